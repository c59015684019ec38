"""Planted bugs: each is found, as the error it is, at the line it stands on; and correct kernels raise no alarm."""

import ctypes
import re
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sim.harness import compile_module, empty, launch, sim, to_device, values

N = 256

SOURCE = (Path(__file__).parent / "sim" / "bugs.cu").read_text()
KERNEL = re.compile(
    r'^// (\w+): grid (\d+), block (\d+), shared (\d+)\nextern "C" __global__ void (\w+)\((?s:.*?)^}', re.M
)


class Launch(NamedTuple):
    """How a kernel of bugs.cu is launched, and what must come of it."""

    expected: str  # the class of the error, or "Correct"
    grid: int
    block: int
    shared: int
    line: int  # which the error must name, or 0

    @classmethod
    def of(cls, found):
        here = found[0].find("// here")
        line = SOURCE.count("\n", 0, found.start() + here) + 1 if here >= 0 else 0
        return cls(found[1], *map(int, found.groups()[1:4]), line)


LAUNCHES = {found[5]: Launch.of(found) for found in KERNEL.finditer(SOURCE)}
BUGS = [name for name, launch in LAUNCHES.items() if launch.expected != "Correct"]
# The results of the correct kernels for x = 0, 1, ... 255.
CORRECT = {
    "reverse_through_shared": lambda x: x[::-1],
    "with_syncwarp": lambda x: x[:32] + np.roll(x[:32], 16),
    "atomics_collide": lambda x: np.where(x < 64, 4, 0),
    "same_value_twice": lambda x: 0 * x + 5,
    "bytes_side_by_side": lambda x: (np.arange(256) ^ 1).astype("i1"),
    "global_bytes_side_by_side": lambda x: np.tile(np.arange(256).astype("u1"), 4).view("f4"),
    "named_barrier_pipeline": lambda x: x.reshape(4, 64)[:, ::-1].ravel(),
    "two_consumers_of_an_mbarrier": lambda x: x,
    "fenced_last_block": lambda x: np.where(x < 64, 4, 1),
}


@pytest.fixture(scope="module")
def module():
    return compile_module(SOURCE, "bugs.cu")


def run(module, name):
    how = LAUNCHES[name]
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    ctypes.memset(module.symbol("count")[0], 0, 4)
    launch(module, name, how.grid, how.block, x, y, np.int32(N), shared=how.shared)
    return values(y)


def test_all_kernels_were_read():
    assert len(LAUNCHES) == SOURCE.count('extern "C"') and len(BUGS) == 42
    assert set(CORRECT) == set(LAUNCHES) - set(BUGS)


@pytest.mark.parametrize("order", sim.device.ORDERS)
@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found(module, name, order):
    how = LAUNCHES[name]
    error = getattr(sim, how.expected)
    with sim.settings(order=order, time_limit=0.05 if name == "endless_loop" else 60), pytest.raises(error) as raised:
        run(module, name)
    assert type(raised.value) is error and str(raised.value).startswith(f"{name}<<<(")
    if how.line:
        assert how.line in [finding.site.line for finding in raised.value.reports]
        quoted = SOURCE.splitlines()[how.line - 1].strip()
        assert f"{how.line} | {quoted}" in str(raised.value) and f"bugs.cu:{how.line}" in str(raised.value)


@pytest.mark.parametrize("order", sim.device.ORDERS)
@pytest.mark.parametrize("name", CORRECT)
def test_no_false_alarm(module, name, order):
    with sim.settings(order=order, seed=3):
        got = run(module, name)
    want = np.asarray(CORRECT[name](np.arange(N, dtype="f4")))
    np.testing.assert_array_equal(got[: want.size], want)


def test_launch_limits():
    module = compile_module(
        'extern "C" __global__ void __launch_bounds__(128) k(float* x, int n) { __shared__ float s[1000]; '
        's[threadIdx.x] = n; '
        'x[threadIdx.x] = s[threadIdx.x]; }\nextern "C" __global__ void empty_one(float* x) { }',
        "limits.cu",
    )
    x = to_device(np.zeros(128, "f4"))
    launch(module, "k", 1, 128, x, np.int32(3))
    np.testing.assert_array_equal(values(x), 3)

    def refused(match, entry, grid, block, *arguments, **options):
        with pytest.raises(sim.BadLaunch, match=match):
            launch(module, entry, grid, block, *arguments, **options)

    refused("__launch_bounds__ allows 128", "k", 1, 256, x, np.int32(1))
    refused("1 to 1024 threads", "empty_one", 1, 2048, x)
    refused("1 to 1024 threads", "empty_one", 1, (2, 2, 128), x)
    refused("1 to 1024 threads", "empty_one", 1, 0, x)
    refused("a grid has", "empty_one", (1, 70000), 32, x)
    refused("a grid has", "empty_one", 0, 32, x)
    refused("takes 2 arguments, got 1", "k", 1, 32, x)
    refused("argument 1 has 8 bytes, the parameter has 4", "k", 1, 32, x, np.float64(1))
    refused("dynamic shared memory, the limit is 49152", "empty_one", 1, 32, x, shared=50000, max_shared=48 << 10)
    refused("4000 static and 230000 dynamic", "k", 1, 32, x, np.int32(1), shared=230000)
    refused("has no kernel 'nope', it has k, empty_one", "nope", 1, 32)


def test_findings_are_data(module):
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    with pytest.raises(sim.OutOfBounds) as raised:
        launch(module, "read_past_end", 1, 256, x, y, np.int32(N))
    finding = raised.value.reports[0]
    assert (finding.block, finding.thread, finding.site.file.endswith("bugs.cu")) == ((0, 0, 0), (255, 0, 0), True)
    assert "offset 1024 of allocation" in finding.message and "ld.global" in finding.site.instruction


def test_checks_can_be_chosen(module):
    with sim.settings(checks=("memory",)):
        assert run(module, "missing_barrier_one_way")[5] == 4
    with sim.settings(checks=False):
        run(module, "blocks_write_one_cell")
    with pytest.raises(ValueError, match="'random', expected one of ascending"), sim.settings(order="random"):
        run(module, "trap")
    with pytest.raises(TypeError, match="settings has no speed"), sim.settings(speed=1):
        pass


def test_control_c_stops_a_kernel(module):
    def interrupt(*_):
        raise KeyboardInterrupt
    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            run(module, "endless_loop")
    finally:
        signal.signal(signal.SIGALRM, old)
    assert run(module, "bytes_side_by_side")[2] == 3       # the simulator is as good as new


def test_printf(module, capsys):
    module = compile_module(
        'extern "C" __global__ void hello(float* x) { printf("%d of %s: %.2f %llx %5.1e|%c%%\\n", threadIdx.x, '
        '"two", x[threadIdx.x], 1ull << 40, 1.5, 65); }',
        "hello.cu",
    )
    launch(module, "hello", 1, 2, to_device(np.array([0.5, 2], "f4")))
    assert capsys.readouterr().out == "0 of two: 0.50 10000000000 1.5e+00|A%\n1 of two: 2.00 10000000000 1.5e+00|A%\n"


def test_unsupported_says_what_and_where():
    source = ('extern "C" __global__ void k(float* x) {\n unsigned r;\n asm volatile("mov.u32 %0, '
        '%%cluster_ctarank;" : "=r"(r));\n x[0] = r; }')
    with pytest.raises(sim.Unsupported, match=r"k: special register %cluster_ctarank, made for .*cluster.cu:3"):
        compile_module(source, "cluster.cu")
    with pytest.raises(sim.Unsupported, match="clusters"):
        compile_module('extern "C" __global__ void __cluster_dims__(2, 1, 1) k(float* x) { x[0] = 1; }', "dims.cu")


def test_damage_is_seen_without_checks(module):
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    with sim.settings(checks=False):
        launch(module, "write_past_end", 2, 256, x, y, np.int32(N))
    assert x.damaged and not y.damaged
