# SPDX-License-Identifier: Apache-2.0
"""Makes the board's flow importable from its test."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "synth")]
