"""The profiler and `nn.summary` beside PyTorch's: schedules, names, the columns of the table, FLOPs."""

import inspect
import warnings

import pytest

import minitorch
from minitorch import profiler

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")
theirs = pytest.importorskip("torch.profiler", reason="PyTorch is the yardstick")
torch.set_num_threads(1)


@pytest.mark.parametrize("how", [
    dict(wait=0, warmup=0, active=1), dict(wait=1, warmup=1, active=2, repeat=2), dict(wait=2, warmup=0, active=3),
    dict(wait=1, warmup=2, active=1, repeat=1, skip_first=3),
    dict(wait=3, warmup=1, active=1, repeat=2, skip_first=2, skip_first_wait=1)])
def test_schedules(how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                    # theirs warns where there is no warm-up
        ours, other = profiler.schedule(**how), theirs.schedule(**how)
    assert [ours(i).name for i in range(30)] == [other(i).name for i in range(30)]


def test_public_names_and_arguments():
    assert set(theirs.ProfilerActivity.__members__) >= set(profiler.ProfilerActivity.__members__)
    assert [a.name for a in theirs.ProfilerAction][:4] == [a.name for a in profiler.ProfilerAction]
    for name in ("profile", "schedule", "record_function", "tensorboard_trace_handler"):
        wanted = set(inspect.signature(getattr(theirs, name)).parameters)
        found = set(inspect.signature(getattr(profiler, name)).parameters)
        assert wanted - found <= {"post_processing_timeout_s"}, (name, wanted - found)


def run(t, profile):
    x = t.ones(8, 8, requires_grad=True)
    with profile(record_shapes=True, profile_memory=True) as prof:
        with (theirs if t is torch else profiler).record_function("work"):
            (x @ x).exp().sum().backward()
    return prof


def test_tables_have_the_same_columns_and_numbers_of_calls():
    ours, other = run(minitorch, profiler.profile), run(torch, theirs.profile)

    def columns(prof):
        lines = prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=3).splitlines()
        return [c.strip() for c in lines[1].split("  ") if c.strip()]

    assert set(columns(ours)) <= set(columns(other)) and columns(ours)[0] == columns(other)[0] == "Name"
    calls = {e.key: e.count for e in other.key_averages()}
    mine = {e.key: e.count for e in ours.key_averages()}
    for name in ("work", "ExpBackward0", "SumBackward0"):
        assert mine[name] == calls[name] == 1
    assert mine["exp"] == calls["aten::exp"] and mine["sum"] == calls["aten::sum"]


def test_attributes_of_averages():
    ours, other = run(minitorch, profiler.profile).key_averages()[0], run(torch, theirs.profile).key_averages()[0]
    for name in ("key", "count", "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "device_time",
                 "self_cpu_memory_usage", "device_time_total", "self_device_time_total", "input_shapes", "stack"):
        assert hasattr(ours, name) and hasattr(other, name), name


@pytest.mark.parametrize("make, shape", [
    (lambda nn: nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3)), (4, 5)),
    (lambda nn: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9, 9)),
    (lambda nn: nn.ConvTranspose2d(4, 6, 3, stride=2), (2, 4, 5, 5)),
    (lambda nn: nn.Conv1d(3, 5, 2, dilation=2), (2, 3, 11)),
    (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8))])
def test_flops(make, shape):
    from torch.utils.flop_counter import FlopCounterMode
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        make(torch.nn)(torch.randn(*shape))
    assert minitorch.nn.summary(make(minitorch.nn), minitorch.randn(*shape)).flops == counter.get_total_flops()
