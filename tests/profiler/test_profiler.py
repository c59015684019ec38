"""The profiler counts what ran, nests it, and leaves nothing behind."""

import gzip
import json
import time

import pytest

import minitorch as torch
from minitorch import nn
from minitorch.core import graph, layers
from minitorch.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from tests.helpers.own_functions import Double


def train(steps=1, prof=None):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(16, 4)
    for _ in range(steps):
        opt.zero_grad()
        with record_function("forward"):
            loss = net(x).pow(2).mean()
        loss.backward()
        opt.step()
        if prof is not None:
            prof.step()


def counts(prof, **how):
    return {e.key: e.count for e in prof.key_averages(**how)}


def test_counts_of_a_training_step():
    with profile() as prof:
        train(3)
    found = counts(prof)
    assert found["linear"] >= 6 and found["tanh"] == 3 and found["TanhBackward0"] == 3 and found["AddmmBackward0"] == 6
    assert found["forward"] == 3 and found["Optimizer.step#SGD.step"] == 3 and found["MeanBackward0"] == 3
    assert found["pow"] >= 3 and found["PowBackward0"] == 3


def test_events_nest_and_times_add_up():
    with profile() as prof, record_function("all"):
        train(2)
    events = {e.name: e for e in prof.events()}
    outer = events["all"]
    assert outer.depth == 0 and all(outer.start <= e.start <= e.end <= outer.end for e in prof.events())
    total = sum(e.self_cpu_time_total for e in prof.events())
    assert abs(total - outer.duration) < 1e-3 and all(e.self_cpu_time_total >= 0 for e in prof.events())
    tanh = next(e for e in prof.events() if e.name == "tanh")
    forward = next(e for e in prof.events() if e.name == "forward")
    assert forward.start <= tanh.start and tanh.end <= forward.end and tanh.depth == forward.depth + 1


def test_times_are_those_of_the_clock():
    with profile() as prof, record_function("sleep"):
        time.sleep(0.02)
    assert prof.key_averages()[0].cpu_time_total >= 20_000


def test_shapes_and_memory():
    x, y = torch.ones(100, 50), torch.ones(50, 20)
    with profile(record_shapes=True, profile_memory=True) as prof:
        (x @ y).t().exp()
    by_shape = prof.key_averages(group_by_input_shape=True)
    found = {e.key: e for e in by_shape}
    assert found["matmul"].input_shapes == [[100, 50], [50, 20]]
    assert found["matmul"].cpu_memory_usage == found["exp"].self_cpu_memory_usage == 100 * 20 * 4
    views = [e for e in by_shape if e.key not in ("matmul", "exp")]
    assert views and all(e.cpu_memory_usage == 0 for e in views)              # a view makes no memory
    table = by_shape.table(sort_by="cpu_memory_usage")
    assert "Self CPU Mem" in table and "7.81 Kb" in table and "[[100, 50], [50, 20]]" in table


def test_the_table():
    with profile() as prof:
        train(2)
    lines = prof.key_averages().table(sort_by="count", row_limit=2, header="two rows").splitlines()
    assert lines[1] == "two rows" and "# of Calls" in lines[3] and lines[-1].startswith("Self CPU time total: ")
    assert len(lines) == 9
    found = prof.key_averages()
    in_order = [e.self_cpu_time_total for e in found.sorted_by("self_cpu_time_total")]
    assert in_order == sorted(in_order, reverse=True)
    assert found.total_average().count == sum(e.count for e in found)
    with pytest.raises(AttributeError, match="sort_by"):
        found.table(sort_by="beauty")


def test_nothing_is_left_behind():
    cpu = torch.backends.get("cpu")
    train()
    with pytest.raises(KeyError), profile() as prof:
        assert len(layers.stack) == len(graph.node_hooks) == 1
        train()
        raise KeyError
    assert not cpu.ops and not layers.stack and graph.node_hooks is None
    count = len(prof.events())
    train()
    assert len(prof.events()) == count


def test_one_profile_at_a_time():
    with profile(), pytest.raises(RuntimeError, match="already"):
        profile().start()
    with profile() as prof:
        torch.ones(2).exp()
    assert counts(prof) == {"exp": 1}


def test_graphs_that_outlive_a_profile():
    x = torch.ones(3, dtype=torch.float16, requires_grad=True)
    with profile() as prof:
        y = (x * 2).exp().sum()
    count = len(prof.events())
    y.backward()
    assert len(prof.events()) == count and x.grad is not None


def test_own_functions_and_errors():
    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        Double.apply(x).sum().backward()
        with pytest.raises(RuntimeError):
            x + torch.ones(4)
        torch.ones(1).exp()
    found = counts(prof)
    assert found["DoubleBackward"] == 1 and found["exp"] == 1
    assert max(e.depth for e in prof.events() if e.name == "exp") == 0        # the failed op was closed


def test_record_function_decorates_and_costs_nothing_without_a_profile():
    @record_function("named")
    def work(x):
        return x.exp()

    work(torch.ones(2))
    with profile() as prof:
        work(torch.ones(2))
        work(torch.ones(2))
    assert counts(prof) == {"named": 2, "exp": 2} and work.__name__ == "work"


def test_the_old_place():
    import minitorch.autograd.profiler as old
    assert torch.autograd.profiler is old and old.record_function is record_function


# ------------------------------------------------------------------ schedules
def test_schedule():
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    N, W, R, S = ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE
    assert [plan(i) for i in range(11)] == [N, N, W, R, S, N, W, R, S, N, N]
    with pytest.raises(AssertionError, match="active"):
        schedule(wait=1, warmup=1, active=0)


def test_rounds_of_a_schedule(tmp_path):
    seen = []

    def ready(prof):
        seen.append(([e.name for e in prof.events() if e.kind == "step"], counts(prof)["tanh"]))
        tensorboard_trace_handler(tmp_path, "me")(prof)

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        train(10, prof)
    assert seen == [(["ProfilerStep#2", "ProfilerStep#3"], 2), (["ProfilerStep#6", "ProfilerStep#7"], 2)]
    assert not layers.stack and len(list(tmp_path.iterdir())) >= 1


# ------------------------------------------------------------------ out of the profile
def test_chrome_trace(tmp_path):
    with profile(record_shapes=True) as prof:
        train()
    prof.add_metadata("who", "a test")
    for name in ("trace.json", "trace.json.gz"):
        prof.export_chrome_trace(str(tmp_path / name))
        raw = (tmp_path / name).read_bytes()
        trace = json.loads(gzip.decompress(raw) if name.endswith("gz") else raw)
        assert len(trace["traceEvents"]) == len(prof.events()) and trace["who"] == "a test"
        tanh = next(e for e in trace["traceEvents"] if e["name"] == "tanh")
        assert tanh["ph"] == "X" and tanh["args"]["Input Dims"] == [[16, 8]] and tanh["dur"] > 0


def test_stacks_name_the_lines_of_the_program():
    with profile(with_stack=True) as prof:
        torch.ones(2).exp()
    assert "test_profiler.py" in prof.events()[0].stack[-1]
    assert len(prof.key_averages(group_by_stack_n=3)) == 1


def test_picture_and_html():
    from tests.helpers.view_checks import check
    with profile(profile_memory=True) as prof:
        train(40)
    view = prof.timeline()
    source = check(view)
    assert "of " in source and len(prof.events()) > len(view.shown)
    html = prof._repr_html_()
    assert "Self CPU time total" in html and "http" not in html and len(html) < 200_000
    assert "tanh" in repr(prof)
    check(profile().timeline())
    assert ProfilerActivity.CPU in supported_activities()


def test_profiles_are_handed_over_when_ready():
    seen = []
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    with torch.profiler.profile(schedule=schedule, on_trace_ready=lambda profile: seen.append(profile)) as profile:
        for _ in range(4):
            torch.ones(2) + 1
            profile.step()
    assert seen == [profile]
    with torch.profiler.profile(on_trace_ready=lambda profile: seen.append("end")):
        torch.ones(2) + 1
    assert seen[1:] == ["end"]


def test_the_profile_at_its_old_place():
    with torch.autograd.profiler.profile(record_shapes=True) as found:
        torch.ones(3).exp()
    assert "exp" in [e.name for e in found.function_events] and found.self_cpu_time_total > 0
    assert found.total_average().count == len(found.events()) and "exp" in str(found)
    assert "exp" in found.table(sort_by="self_cpu_time_total", row_limit=2)
    with torch.autograd.profiler.profile(enabled=False) as found:
        torch.ones(3).exp()
    assert found is None


def test_a_ready_trace_has_the_number_of_the_step_that_begins():
    seen = []
    plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with torch.profiler.profile(schedule=plan, on_trace_ready=lambda p: seen.append(p.step_num)) as found:
        for _ in range(9):
            found.step()
    assert seen == [4, 8]                                  # PyTorch's numbers


def test_profile_and_summary_at_the_same_time():
    net = nn.Linear(3, 2)
    with profile() as prof:
        found = nn.summary(net, torch.ones(4, 3))
    assert found.flops == 2 * 4 * 3 * 2 and "linear" in {e.name for e in prof.events()}


def test_anomaly_mode_within_a_profile():
    x = torch.zeros(1, requires_grad=True)
    with profile() as prof, torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan values"):
        (x.sqrt() * 0).backward()
    assert "SqrtBackward0" in {e.name for e in prof.events()} and graph.node_hooks is None
    with torch.autograd.set_detect_anomaly(True):
        with torch.autograd.set_detect_anomaly(False):
            assert graph.node_hooks is None
        assert len(graph.node_hooks) == 1
    assert graph.node_hooks is None
