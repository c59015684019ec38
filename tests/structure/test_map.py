"""docs/architecture.md: generated where it can be, short, and in an order that one can read in."""

import pytest

from docs import build_map
from tests.structure.source import MODULES, imports, package_of
from tests.structure.wall import GUESTS, KERNEL

ORDER = [f"minitorch.core.{name}" for names, _ in build_map.reading_order() for name in names]


def test_the_page_is_what_the_script_writes():
    """If not: ``python docs/build_map.py``."""
    assert build_map.PAGE.read_text(encoding="utf-8") == build_map.page()


def test_the_page_is_short():
    assert len(build_map.PAGE.read_text(encoding="utf-8").splitlines()) <= 120


def test_every_file_of_the_core_is_read_once():
    core = {module for module in MODULES if package_of(module) == "core"} - {"minitorch.core"}
    assert sorted(ORDER) == sorted(core)


@pytest.mark.parametrize("module", ORDER)
def test_a_file_of_the_core_rests_on_earlier_ones(module):
    earlier = set(ORDER[:ORDER.index(module)])
    assert {imported for imported, _, _ in imports(module)} <= {*earlier, "minitorch.core"}


def test_the_map_shows_every_package():
    shown = "\n".join(build_map.map_of_packages())
    assert [name for name in (*KERNEL, *GUESTS) if name not in shown] == []
