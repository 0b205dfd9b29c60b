# SPDX-License-Identifier: Apache-2.0
"""Sections of a configuration, by what they describe; `godwit.spec.schema` puts them together."""
