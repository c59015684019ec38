"""Writes in place under stacks of grad, jvp and vmap: see `inplace_stacks`."""

import random

import pytest

from tests.programs.inplace_stacks import any_case, check, names


@pytest.mark.parametrize("name", names())
def test_a_write_in_a_stack_is_the_plain_call_in_it(name):
    for n in range(2):
        check(any_case(random.Random(f"{name} {n}"), name))
