"""Sobol' sequences beside SciPy's, and scrambled ones beside numbers recorded from PyTorch 2.13."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch.quasirandom import SobolEngine

RECORDED = {"shift": [214182645, 183537049, 804615878],
            "points": [0.17093220353126526, 0.7114949226379395, 0.2962706387042999,
                       0.8368963003158569, 0.37849321961402893, 0.9883174300193787],
            "default": [73513868, 241083994, 750744354, 67200864]}
qmc = pytest.importorskip("scipy.stats.qmc")


@pytest.mark.parametrize("dimension", [1, 2, 17, 300])
def test_points_are_those_of_scipy(dimension):
    expected = qmc.Sobol(dimension, scramble=False, bits=30).random(64)
    found = SobolEngine(dimension).draw(64, dtype=torch.float64)
    assert (found.numpy() == expected).all()


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=6), st.booleans())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_parts_of_a_sequence_are_the_sequence(parts, scramble):
    engine, whole = (SobolEngine(3, scramble=scramble, seed=5) for _ in range(2))
    points, at = whole.draw(64), 0
    for leaves_out, n in parts:
        if leaves_out:
            assert engine.fast_forward(n) is engine
        else:
            assert torch.equal(engine.draw(n), points[at : at + n])
        at += n
        assert engine.num_generated == at
    assert torch.equal(engine.reset().draw(64), points)


def test_each_half_of_each_dimension_gets_half_of_the_points():
    points = SobolEngine(50, scramble=True, seed=1).draw_base2(8)
    for parts in (2, 16, 256):                             # intervals: one number in each, then two, ...
        counts = torch.stack([torch.histc(column, parts, 0, 1) for column in points.T])
        assert (counts == 256 // parts).all()


def test_a_seed_gives_pytorchs_points():
    engine = SobolEngine(3, scramble=True, seed=7)
    assert repr(engine) == "SobolEngine(dimension=3, scramble=True, seed=7)"
    assert engine.shift.tolist() == RECORDED["shift"] and engine.draw(6)[:, 1].tolist() == RECORDED["points"]
    torch.manual_seed(3)
    assert SobolEngine(4, scramble=True).shift.tolist() == RECORDED["default"]


def test_refusals():
    with pytest.raises(ValueError, match=r"\[1, 21201\]"):
        SobolEngine(21202)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
