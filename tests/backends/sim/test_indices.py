"""Indices that overflow 32 bits are found exactly where they do; whatever else overflows is nobody's business."""

import random
import re

import numpy as np
import pytest

from minitorch.backends.sim.flow import Indices, accumulators
from minitorch.backends.sim.ptx import parse
from tests.backends.sim.harness import compile_module, launch, sim, to_device, values

CASES = 60


def expression(draw, depth):
    """A random expression of a, b, c and small numbers in C, which is one in Python, too."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(["a", "b", "c", str(draw.randint(-9, 9)), str(draw.choice([3, 20, 99]))])
    left, right = expression(draw, depth - 1), expression(draw, depth - 1)
    return f"({left} {draw.choice('++-***')} {right})"


def make_cases():
    draw = random.Random(17)
    for _ in range(CASES):
        text = expression(draw, draw.randint(1, 4))
        yield text, [draw.choice([draw.randint(0, 40), draw.randint(0, 1 << 17)]) for _ in "abc"]


def wrapped(x):
    return (x + 2**31) % 2**32 - 2**31


def test_an_access_is_refused_if_its_index_overflowed():
    cases = list(make_cases())
    # The address always lies inside: the wrapped value is taken off again in 64 bits.
    source = "".join(f'extern "C" __global__ void k{i}(float* x, int a, int b, int c, long long off, int line) '
                     f"{{ int index = {text}; x[index - off] = 1; }}\n" for i, (text, _) in enumerate(cases))
    module, found = compile_module(source, "indices.cu"), 0
    for i, (text, (a, b, c)) in enumerate(cases):
        exact, x = eval(text, {"a": a, "b": b, "c": c}), to_device(np.zeros(1, "f4"))
        arguments = x, np.int32(a), np.int32(b), np.int32(c), np.int64(wrapped(exact)), np.int32(0)
        if wrapped(exact) == exact:
            launch(module, f"k{i}", 1, 1, *arguments)
            assert values(x)[0] == 1, text
        else:
            found += 1
            with pytest.raises(sim.OutOfBounds):
                launch(module, f"k{i}", 1, 1, *arguments)
    assert 10 < found < CASES - 10


def test_exact_values_are_kept_for_what_becomes_an_address_only():
    source = """extern "C" __global__ void k(float* x, const int* table, int n) {
        int t = threadIdx.x;
        unsigned hash = (t * 2654435761u ^ n) * 40503u;
        int kept = t * n + 3;
        float v = (float)(t * t * n);                     // a number, no address
        x[kept] = v + table[hash % 100u];
    }"""
    from minitorch.backends.cuda.runtime.compile import compile_source, with_includes
    body = parse(compile_source(with_includes("kept.cu", source)).read_text()).functions["k"].body
    indices = Indices(body)
    made = [s.opcode for s in body if getattr(s, "operands", ()) and s.operands[0] in indices.exact]
    assert 1 <= len(made) <= 4 and all(re.match("mad.lo|mul.lo|add|sub", name) for name in made)
    assert indices.marked and indices.remainders and not accumulators(body)


def test_remainders_of_what_overflowed_are_no_mistake():
    source = """extern "C" __global__ void k(float* x, unsigned* state, int n) {
        unsigned h = (threadIdx.x + 7u) * 2654435761u, s = state[threadIdx.x] * 1664525u + 1013904223u;
        x[h % 100u] = 1;
        x[(h * 31u + s) % 97u] = 1;
        x[(s ^ h) * 5u % (unsigned)n] = 1;
        x[s / 50000000u] = 1;
        x[(int)((h >> 3) * 40503u >> 16) % n] = 1;
    }"""
    module, x = compile_module(source, "hash.cu"), to_device(np.zeros(100, "f4"))
    launch(module, "k", 1, 128, x, to_device(np.arange(128, dtype="u4") * 69069), np.int32(100))
    assert values(x).sum() > 50
