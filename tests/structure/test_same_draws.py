"""Tests of properties try the same cases in each run, whatever was imported and run before (tests/conftest.py)."""

import importlib.util
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(autouse=True)
def no_seed(pytestconfig):
    if pytestconfig.getoption("--hypothesis-seed") is not None:
        pytest.skip("other cases were asked for")


def drawn():
    found = []

    @given(st.integers(), st.floats(), st.text(), st.sampled_from(range(100)))
    @settings(max_examples=50)
    def draw(a, b, c, d):
        found.append(repr((a, b, c, d)))
    draw()
    return found


def test_draws_do_not_depend_on_what_is_loaded(tmp_path, monkeypatch):
    before = drawn()
    assert len(set(before)) > 20 and drawn() == before
    path = tmp_path / "constants.py"
    path.write_text(f"numbers = {list(range(10_007, 10_407))}\nfloats = {[i + 0.71 for i in range(99)]}\n")
    spec = importlib.util.spec_from_file_location("minitorch_test_constants", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert drawn() == before


def test_a_profile_makes_all_of_them_so():
    assert settings().derandomize and settings().deadline is None and settings().database is None
