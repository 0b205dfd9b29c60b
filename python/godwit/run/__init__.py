# SPDX-License-Identifier: Apache-2.0
"""Workloads: real input through a kernel on a card, checked, and reported beside the run with physical
addresses.
"""
