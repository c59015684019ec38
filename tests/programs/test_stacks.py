"""Stacks of two and three transformations over all definitions: see `stacked_transforms`."""

import random
from collections import Counter

import pytest

from tests.programs.stacked_transforms import any_case, check, definitions

DEFINITIONS = definitions()
refused: Counter = Counter()


@pytest.mark.parametrize("op", DEFINITIONS, ids=lambda op: op.name)
def test_stacks_equal_their_plain_form_or_name_what_refuses(op):
    for n in range(2):
        refused[check(any_case(random.Random(f"{op.name} {n}"), op))] += 1
