# SPDX-License-Identifier: Apache-2.0
"""Makes the shared runner and the package of this tree importable from every bench directory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
