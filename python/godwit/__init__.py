# SPDX-License-Identifier: Apache-2.0
"""Godwit: shared virtual memory for accelerators."""

__version__ = "0.1.0"
