"""The first lesson in JupyterLab in a browser; `lessons_in_browser.py` runs them all."""

import pytest

from tests.check import lessons_in_browser


def test_the_first_lesson_runs_without_an_error(tmp_path):
    if missing := lessons_in_browser.missing():
        pytest.skip(f"missing: {', '.join(missing)}")
    found = lessons_in_browser.run_lessons(tmp_path, "01", ["student"], draw=False)
    assert {name: wrong for name, (wrong, _) in found.items()} == {"01_derivatives-student": []}
