"""Makes the modules of tests/conformance importable as its entry point sees them."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tests' / 'conformance'))
