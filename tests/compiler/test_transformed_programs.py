"""Random programs under `vmap`, `grad`, `jvp` and their combinations, beside the same programs without them."""

import random
import warnings

import pytest

from tests.compiler.compiled_programs import random_case
from tests.compiler.transformed_programs import check


@pytest.mark.parametrize("part", range(4))
def test_programs_are_the_same_without_transforms(part):
    """A sample of what ``python -m tests.compiler.transformed_programs`` runs for longer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused = [check(random_case(random.Random(f"sample {part} {n}"))) for n in range(30)]
    assert sum(not r for r in refused) >= 12, "most programs are for no transform to refuse"
