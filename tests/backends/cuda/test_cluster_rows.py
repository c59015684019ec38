"""Rows that a cluster of blocks holds: softmax and norms against their references, at limits lowered to small rows."""

import numpy as np
import pytest

from minitorch.backends import sim
from minitorch.backends.cuda.ops import normalise, rows, softmax
from tests.backends.cuda.kernel_checks import (
    DTYPES,
    check_norm_backward,
    check_resources,
    close,
    device,
    launches,
    put,
    reference,
    rounding,
    run,
    same_in_every_order,
    unit,
    without_clusters,
)
from tests.backends.cuda.test_softmax import bounds

rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A block holds 1,024 numbers (512 pairs), a cluster up to eight times as many; one row counts as a hundred."""
    for name, value in dict(ITEMS=8, LONG_THREADS=64, MOST_THREADS=64, ENOUGH=1).items():
        monkeypatch.setattr(rows, name, value)
    forget()
    yield
    monkeypatch.undo()
    forget()


def forget():
    rows.distribution.cache_clear()
    rows.in_cluster.cache_clear()


def normals(dtype, *shape):
    return rng.normal(size=shape).astype(DTYPES[dtype])


def blocks_of(columns, count=1, held=1):
    return rows.distribute(columns, [put(np.zeros(4, "f"))], held, True, count).blocks


def test_which_rows_get_a_cluster(monkeypatch):
    """The smallest that holds a row; a larger one where few rows would leave a GPU idle; none beyond eight blocks."""
    assert [blocks_of(n) for n in (1024, 1028, 2048, 2052, 8192, 8196)] == [1, 2, 2, 4, 8, 1]
    assert [blocks_of(n, held=2) for n in (512, 516, 4096, 4100)] == [1, 2, 8, 1]
    assert rows.distribute(1028, [put(np.zeros(4, "f"))], 1, True).items is None      # no clusters: read twice
    monkeypatch.setattr(rows, "ENOUGH", 128)
    assert [blocks_of(1028, count) for count in (1, 16, 31, 33, 64, 1000)] == [8, 8, 8, 4, 2, 2]
    how = rows.distribute(2054, [put(np.zeros(2, "f"))], 1, True, 200)
    assert how.grid(200) == 200 * how.blocks and how.constants["CLUSTER"] == how.blocks == 8
    wide = rows.in_cluster(2048, 2, 8, 1, True, 2), rows.in_cluster(2047, 2, 8, 1, True, 2)
    assert wide[0].constants["WHOLE"] == 1 and "WHOLE" not in wide[1].constants


@pytest.mark.parametrize(("name", "dtype", "columns"), [
    ("softmax", "f32", 1028), ("log_softmax_backward", "bf16", 1000)])
def test_softmax(name, dtype, columns):
    x = normals(dtype, 3, columns)
    arrays = [x]
    if name.endswith("backward"):
        arrays = [x, reference(name[:-9], [normals(dtype, 3, columns)], dict(dim=1))[0].astype(x.dtype)]
    else:
        x[0, -1], x[1, :8], x[1, -9:] = 40, -np.inf, -np.inf
    got, names = run(name, arrays, dict(dim=1))
    assert names == ["softmax_" + ("backward" if name.endswith("backward") else "forward")]
    close(got[0], reference(name, arrays, dict(dim=1))[0], bounds(name, arrays, dict(dim=1), x.dtype))
    same_in_every_order(lambda: run(name, arrays, dict(dim=1))[0], got)


def test_extremes_reach_all_blocks():
    x = normals("f32", 4, 1028)
    x[0, -1], x[1, 3], x[2], x[3, -1] = np.nan, np.inf, -np.inf, 3e38
    got, _ = run("softmax", [x], dict(dim=1))
    np.testing.assert_array_equal(np.isnan(got[0]), np.isnan(reference("softmax", [x], dict(dim=1))[0]))
    assert got[0][3, -1] == 1 and got[0][3].sum() == 1


@pytest.mark.parametrize("centred", [True, False])
def test_norms(centred):
    x, weight, bias = normals("f32", 3, 1028) + np.float32(3), *normals("f32", 2, 1028)
    arrays, attrs = [x, weight, bias if centred else None], dict(dims=(1,), centred=centred)
    got, names = run("layer_norm", arrays, attrs)
    assert names == ["normalise_rows"]
    wanted = reference("layer_norm", arrays, attrs)
    close(got[0], wanted[0], unit(x.dtype) * 300 * (1 + abs(wanted[0])) + rounding(x.dtype) * abs(wanted[0]))
    if centred:
        close(got[1], exact_means(x), 1e-6 * (1 + abs(exact_means(x))))
        same_in_every_order(lambda: run("layer_norm", arrays, attrs)[0], got)


def exact_means(x):
    return x.astype("float64").mean(1, keepdims=True)


def test_norm_backward():
    check_norm_backward(normals("f32", 2, 1028), normals("f32", 2, 1028), normals("f32", 1028))


def test_older_gpus_read_twice(monkeypatch):
    """Below compute capability 9.0 nothing changes: there are no clusters."""
    without_clusters(monkeypatch, softmax)
    x = normals("f32", 2, 1028)
    with launches() as names:
        got = device.kernels["softmax"](device, put(x), dim=1)
    assert names == ["softmax_forward_long"]
    close(device.to_host(got), reference("softmax", [x], dict(dim=1))[0], 1e-6)


@pytest.mark.parametrize(("file", "line"), [
    ("rows.cuh", "    sync_cluster();\n"), ("softmax.cu", "    await_others();\n")])
def test_each_barrier_of_the_cluster_is_needed(file, line, monkeypatch):
    if device.machine.kind != "sim":
        pytest.skip("a GPU does not tell")
    source = softmax.ROWS.source

    def without(name, text):
        assert name != file or line in text
        return text.replace(line, "") if name == file else text
    monkeypatch.setattr(softmax.ROWS, "file", source._replace(text=without(source.name, source.text), includes=tuple(
        (name, without(name, text)) for name, text in source.includes)))
    monkeypatch.setattr(softmax.ROWS, "ready", {})
    with pytest.raises(sim.SimulatorError):
        run("softmax", [normals("f32", 1, 1028)], dict(dim=1))


def test_resources():
    """Clusters of real sizes: two blocks of 512 threads fit a multiprocessor."""
    parked = dict(THREADS=512, VECTOR=4, PARKED=32, CLUSTER=8)
    check_resources(softmax.ROWS, (DTYPES["f32"],), ITEMS=64, LOG=0, BACKWARD=0, **parked)
    check_resources(normalise.ROWS_BACK, (), ITEMS=32, T=DTYPES["f32"], V=DTYPES["f32"], CHANNELS=0, WEIGHTS=0,
                    **parked)
