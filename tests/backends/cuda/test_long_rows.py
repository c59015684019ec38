"""Rows that lie half in registers and half in shared memory: softmax and norms against their references."""

import numpy as np
import pytest

from minitorch.backends import sim
from minitorch.backends.cuda.ops import rows, softmax
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    check_norm_backward,
    close,
    device,
    reference,
    rounding,
    run,
    same_in_every_order,
    unit,
)
from tests.backends.cuda.test_softmax import bounds

rng = np.random.default_rng(0)


def normals(dtype, *shape):
    return rng.normal(size=shape).astype(DTYPES[dtype])


def parked(columns, itemsize, held=1):
    return rows.distribution(columns, itemsize, 16 // itemsize, held, True).constants.get("PARKED", 0)


def test_which_rows_are_parked():
    """Those for which registers would leave room for one block only, up to twice what they hold."""
    assert [parked(n, 4) for n in (16384, 16388, 32768, 32772)] == [0, 32, 32, 0]
    assert [parked(n, 2, held=2) for n in (8192, 8200, 16384, 16392)] == [0, 32, 32, 0]
    assert parked(8192, 8) == 8
    assert "PARKED" not in rows.distribution(16388, 4, 2, 1, True).constants           # not in whole vectors
    assert rows.distribution(16384, 2, 8, 1, True).constants["WHOLE"] == 1


@pytest.mark.parametrize(("name", "dtype", "columns"), [
    ("softmax", "f32", 16388), ("log_softmax", "bf16", 32768), ("softmax_backward", "f32", 8708)])
def test_softmax(name, dtype, columns):
    x = normals(dtype, 2, columns)
    if name.endswith("backward"):
        y = reference(name[:-9], [normals(dtype, 2, columns)], dict(dim=1))[0].astype(DTYPES[dtype])
        x[1, -1], y[1, 3] = 40, 0
        arrays = [x, y]
    else:
        x[1, :8] = x[1, -9:] = -np.inf                     # in what is kept and in what is parked
        arrays = [x]
    got, _ = run(name, arrays, dict(dim=1))
    close(got[0], reference(name, arrays, dict(dim=1))[0], bounds(name, arrays, dict(dim=1), DTYPES[dtype]))


def test_extremes_in_what_is_parked():
    x = normals("f32", 4, 16388)
    x[0, -1], x[1, -1], x[2], x[3, -1] = np.nan, np.inf, -np.inf, 3e38
    got, _ = run("softmax", [x], dict(dim=1))
    wanted = reference("softmax", [x], dict(dim=1))[0]
    np.testing.assert_array_equal(np.isnan(got[0]), np.isnan(wanted))
    assert got[0][3, -1] == 1


@pytest.mark.parametrize(("dtype", "columns", "centred"), [("f32", 16388, True)])
def test_norms(dtype, columns, centred):
    x, weight, bias = normals(dtype, 2, columns) + DTYPES[dtype].type(3), *normals(dtype, 2, columns)
    arrays, attrs = [x, weight, bias if centred else None], dict(dims=(1,), centred=centred)
    got, names = run("layer_norm", arrays, attrs)
    assert names == ["normalise_rows"]
    wanted = reference("layer_norm", arrays, attrs)
    allowed = unit(DTYPES[dtype]) * 300 * (1 + abs(wanted[0])) + rounding(DTYPES[dtype]) * abs(wanted[0])
    close(got[0], wanted[0], allowed)
    if dtype == "f32":
        same_in_every_order(lambda: run("layer_norm", arrays, attrs)[0], got)


def test_norm_backward():
    check_norm_backward(normals("f32", 2, 8708), normals("f32", 2, 8708), normals("f32", 8708))


def test_what_is_parked_is_waited_for(monkeypatch):
    source = softmax.ROWS.source
    text = dict(source.includes)["rows.cuh"]
    broken = text.replace("    wait_copies<0>();\n", "")
    assert broken != text
    monkeypatch.setattr(softmax.ROWS, "file", source._replace(includes=tuple(
        (name, broken if name == "rows.cuh" else t) for name, t in source.includes)))
    monkeypatch.setattr(softmax.ROWS, "ready", {})
    if device.machine.kind != "sim":
        pytest.skip("a GPU does not tell")
    with pytest.raises(sim.SimulatorError):
        run("softmax", [normals("f32", 1, 16388)], dict(dim=1))
