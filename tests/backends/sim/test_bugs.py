"""Planted bugs: each is found, as the error it is, at the line it stands on; and correct kernels raise no alarm."""

import ctypes
import re
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.backends.sim.harness import compile_module, empty, launch, sim, to_device, values

N = 256

# The files, and the architecture that each is compiled for.
FILES = {"bugs.cu": "90", "bugs_hopper.cu": "90a", "bugs_cluster.cu": "90"}
SOURCES = {file: Path(__file__).with_name(file).read_text() for file in FILES}
KERNEL = re.compile(
    r'^// (\w+): grid (\d+), block (\d+), shared (\d+)\nextern "C" __global__ void '
    r"(?:__(?:launch_bounds|cluster_dims)__\(.*?\) )?(\w+)\((?s:.*?)^}", re.M
)


class Launch(NamedTuple):
    """How a kernel of bugs.cu is launched, and what must come of it."""

    expected: str  # the class of the error, or "Correct"
    grid: int
    block: int
    shared: int
    line: int  # which the error must name, or 0
    file: str

    @classmethod
    def of(cls, found, file):
        here = found[0].find("// here")
        line = SOURCES[file].count("\n", 0, found.start() + here) + 1 if here >= 0 else 0
        return cls(found[1], *map(int, found.groups()[1:4]), line, file)


LAUNCHES = {found[5]: Launch.of(found, file) for file in FILES for found in KERNEL.finditer(SOURCES[file])}
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
    "chained_look_back": lambda x: 64 * (x // 16) + x % 16 + 1,
    "look_back_by_a_warp": lambda x: 2.0 ** (x // 32),
    "grid_barrier": lambda x: sum((x[:160] // 32 + k) % 5 for k in (1, 2, 3)),
    "spin_lock": lambda x: 0 * x[:6] + 1,
    "read_only_cache_of_inputs": lambda x: 0 * x + 255,
    "active_mask_for_one_atomic": lambda x: np.where(x == 0, 86, 0),
    "hashes_overflow": lambda x: x[::-1],
    "unsigned_there_and_back": lambda x: x,
    "sums_after_the_wait": lambda x: np.where(x < 128, 64, 49),
    "a_fence_after_scaling": lambda x: np.full(128, 16 * (2 + 4 + 8)),
    "as_many_registers_as_there_are": lambda x: x,
    "mbarrier_seen_by_copies": lambda x: x[:64],
    "memory_of_an_mbarrier_that_is_over": lambda x: x[:32][::-1],
    "partial_sums_of_a_cluster": lambda x: np.tile(x.reshape(4, 64).sum(0), 4),
    "writes_once_the_other_has_begun": lambda x: np.roll(x[:64], 32),
    "a_tile_for_both": lambda x: np.tile(x[:64], 4),
    "a_tile_for_both_by_a_full_barrier": lambda x: np.tile(x[:64], 2),
    "a_second_tile_once_both_are_ready": lambda x: x[:64].reshape(2, 32).repeat(2, 0).ravel(),
    "stores_that_an_mbarrier_tells_of": lambda x: x[:16].reshape(4, 4).T.ravel(),
    "atomics_on_one_counter": lambda x: np.full(128, x[:64].sum() + x[:32].sum() + x[32:64].sum()),
    "empty_after_the_product_is_over": lambda x: np.full(128, 16 + 64),
    "copies_from_block_to_block": lambda x: np.roll(x[:64], 32),
    "places_in_a_cluster": lambda x: np.concatenate([1000 * (x[:8] // 4) + 100 * (x[:8] % 4) + 42,
                                                     100 * ((x[:8] + 1) % 4) + 10 * (x[:8] % 4) + 1]),
    "clusters_wait_for_each_other": lambda x: np.array([4, 4, 3, 3, 2, 2, 1, 1]),
    "memory_of_the_device_in_turns": lambda x: np.concatenate([x[:32], x[:32], x[:32], x[:32] + 1]),
}


@pytest.fixture(scope="module")
def module():
    return compile_module(SOURCES["bugs.cu"], "bugs.cu")


@pytest.fixture(scope="module")
def modules(module):
    return {"bugs.cu": module} | {file: compile_module(SOURCES[file], file, FILES[file]) for file in [*FILES][1:]}


def run(modules, name):
    how = LAUNCHES[name]
    module = modules[how.file] if isinstance(modules, dict) else modules
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    for variable in module.globals.keys() & {"count", "arrived", "flags", "carries", "turn"}:
        pointer, nbytes = module.symbol(variable)
        ctypes.memset(pointer, 0, nbytes)
    launch(module, name, how.grid, how.block, x, y, np.int32(N), shared=how.shared)
    return values(y)


def test_all_kernels_were_read():
    assert len(LAUNCHES) == sum(text.count('extern "C"') for text in SOURCES.values()) and len(BUGS) == 82
    assert set(CORRECT) == set(LAUNCHES) - set(BUGS)


@pytest.mark.parametrize("order", sim.device.ORDERS)
@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found(modules, name, order):
    how = LAUNCHES[name]
    error = getattr(sim, how.expected)
    with sim.settings(order=order, time_limit=0.05 if name == "endless_loop" else 60), pytest.raises(error) as raised:
        run(modules, name)
    assert type(raised.value) is error and str(raised.value).startswith(f"{name}<<<(")
    if how.line:
        assert how.line in [finding.site.line for finding in raised.value.reports]
        quoted = SOURCES[how.file].splitlines()[how.line - 1].strip()
        assert f"{how.line} | {quoted}" in str(raised.value) and f"{how.file}:{how.line}" in str(raised.value)


@pytest.mark.parametrize("order", sim.device.ORDERS)
@pytest.mark.parametrize("name", CORRECT)
def test_no_false_alarm(modules, name, order):
    with sim.settings(order=order, seed=3):
        got = run(modules, name)
    want = np.asarray(CORRECT[name](np.arange(N, dtype="f4")))
    np.testing.assert_array_equal(got[: want.size], want)


@pytest.mark.parametrize("seed", range(6))
def test_blocks_that_wait_for_each_other_run_in_any_order(modules, seed):
    """Flags that a block before set are found, whichever block runs first; a ring of waiting blocks is a deadlock."""
    x = np.arange(N, dtype="f4")
    for checks in (True, False):
        with sim.settings(order="seeded", seed=seed, checks=checks):
            for name in ("chained_look_back", "look_back_by_a_warp", "grid_barrier"):
                want = CORRECT[name](x)
                np.testing.assert_array_equal(run(modules, name)[: want.size], want)
    with sim.settings(order="seeded", seed=seed), pytest.raises(sim.Deadlock, match="and [123] blocks more|block 0 at"):
        run(modules, "blocks_wait_in_a_ring")


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
    assert re.search(r"offset 1024 of allocation \d+ \(`x`\), which has 1024 bytes", finding.message)
    assert "ld.global" in finding.site.instruction


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
        '%%pm0;" : "=r"(r));\n x[0] = r; }')
    with pytest.raises(sim.Unsupported, match=r"k: special register %pm0, made for .*counter.cu:3"):
        compile_module(source, "counter.cu")


def test_damage_is_seen_without_checks(module):
    x, y = to_device(np.arange(N, dtype="f4")), empty(N)
    with sim.settings(checks=False):
        launch(module, "write_past_end", 2, 256, x, y, np.int32(N))
    assert x.damaged and not y.damaged
