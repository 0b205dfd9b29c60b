# SPDX-License-Identifier: Apache-2.0
"""The tables and figures of the papers that Godwit is measured against; `--paper` chooses one."""
