"""Some random stories of training: see `stories`."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

from tests.parity.stories import compare, draw, is_rounding, shown  # noqa: E402


@pytest.mark.parametrize("seed", range(6))
def test_random_stories(seed):
    story = draw(seed)
    story.update(threads=None, loader="none" if story["loader"] == "workers" else story["loader"])
    found = compare({**story, "steps": 20, "events": [(min(i, 19), e) for i, e in story["events"]]})
    rounded = found is not None and "values are" in found and is_rounding(story)
    assert found is None or rounded, f"{found}\n{shown(story)}"
