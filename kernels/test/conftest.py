# SPDX-License-Identifier: Apache-2.0
"""Makes the shared bench runner and the Python package importable from the kernels' tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "hw" / "test"), str(ROOT / "python")]
