"""The tests, in folders as the packages, and where the repository and its data lie.

Modules here import each other by their full names, as in ``from tests.helpers import pages``. The
folders need no `__init__.py`; this one keeps another package that is named `tests` from coming first.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]                 # of the repository
DATA = ROOT / "tests" / "data"
