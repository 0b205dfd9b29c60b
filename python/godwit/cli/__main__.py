# SPDX-License-Identifier: Apache-2.0
"""``python -m godwit.cli``: the command without its installed script."""

from godwit.cli import main

main()
