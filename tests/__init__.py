"""The tests, in folders as the packages. They import each other by full names: ``from tests.helpers import pages``.

This file is the only `__init__.py` that the scheme needs: it lets no other package named `tests` come first.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]                 # of the repository
DATA = ROOT / "tests" / "data"
