# SPDX-License-Identifier: Apache-2.0
"""Everything that hardware, firmware and software share, generated from ``spec/``: see `godwit.spec.generate`."""
