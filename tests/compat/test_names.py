"""Names that programs import: `jit`, `hub`, `futures`, `types`, small modules of `utils` and more."""

import copy
import io
import os
import pickle
import sys
import threading
import typing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn
from minitorch.torch_version import TorchVersion

SMALL = settings(max_examples=30, deadline=None, derandomize=True, database=None)


# ---- jit -------------------------------------------------------------------------------------------------------
def test_jit_returns_what_it_is_given():
    def f(x):
        return x + 1
    linear = nn.Linear(2, 3)
    for decorate in (torch.jit.script, torch.jit.export, torch.jit.unused, torch.jit.ignore, torch.jit.interface,
                     torch.jit.ignore(drop=True), torch.jit.script_method, torch.jit.script_if_tracing):
        assert decorate(f) is f
    assert torch.jit.script(linear) is torch.jit.trace(linear, torch.ones(1, 2)) is linear
    assert not torch.jit.is_scripting() and not torch.jit.is_tracing() and torch.jit.annotate(int, 3) == 3
    assert not isinstance(linear, torch.jit.ScriptModule) and torch.jit.Final is typing.Final

    class Scripted(torch.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        @torch.jit.script_method
        def forward(self, x):
            return self.layer(x)
    assert Scripted()(torch.ones(1, 2)).shape == (1, 2) and len(Scripted().state_dict()) == 2


def test_jit_refuses_files_and_says_what_to_do(tmp_path):
    with pytest.raises(NotImplementedError, match="state_dict"):
        torch.jit.save(nn.Linear(1, 1), tmp_path / "x.pt")
    with pytest.raises(NotImplementedError, match="state_dict"):
        torch.jit.load(tmp_path / "x.pt")
    with pytest.raises(RuntimeError, match="eval"):
        torch.jit.freeze(nn.Linear(1, 1))
    assert torch.jit.freeze(nn.Linear(1, 1).eval()).training is False


@pytest.mark.parametrize("value, kind, answer", [
    ([1, 2], list[int], True), ([1, "a"], list[int], False), ([], list[str], True), ({"a": 1}, dict[str, int], True),
    ({"a": "b"}, dict[str, int], False), ((1, "a"), tuple[int, str], True), ((1,), tuple[int, str], False),
    ((1, 2, 3), tuple[int, ...], True), (None, typing.Optional[int], True), (3, int | None, True),      # noqa: UP045
    (3.0, int | str, False),
    ([None, 1], list[int | None], True), (3, (str, int), True), ([[1]], list[list[int]], True)])
def test_jit_isinstance_looks_inside(value, kind, answer):
    assert torch.jit.isinstance(value, kind) is answer


def test_jit_isinstance_needs_an_element_type():
    with pytest.raises(RuntimeError, match="needs an element type"):
        torch.jit.isinstance([1], list)


# ---- futures -----------------------------------------------------------------------------------------------------
def test_a_future_is_waited_for_on_other_threads():
    future, found, later = torch.futures.Future(), [], []
    after = future.then(lambda done: done.value() + 1)
    future.add_done_callback(lambda done: found.append(done.value()))
    thread = threading.Thread(target=lambda: later.append(after.wait()))
    thread.start()
    with pytest.raises(RuntimeError, match="not complete"):
        future.value()
    future.set_result(3)
    thread.join(60)
    assert found == [3] and later == [4] and future.done()
    with pytest.raises(RuntimeError, match="once"):
        future.set_result(4)


def test_errors_of_futures_reach_who_waits():
    future = torch.futures.Future()
    after = future.then(lambda done: done.wait())
    future.set_exception(ValueError("broken"))
    good = torch.jit.fork(lambda x: x + 1, torch.ones(1))
    for failing in (future, after, torch.futures.collect_all([good, future])):
        with pytest.raises(ValueError, match="broken"):
            failing.wait()
    assert torch.jit.wait(good).item() == 2.0 and torch.futures.wait_all([good])[0] is good.value()
    assert torch.futures.collect_all([]).wait() == []
    with pytest.raises(AssertionError):
        future.set_exception("no exception")


# ---- versions ----------------------------------------------------------------------------------------------------
NUMBERS = st.lists(st.integers(0, 20), min_size=1, max_size=4)


@SMALL
@given(NUMBERS, NUMBERS)
def test_versions_compare_as_their_numbers(a, b):
    def ordered(numbers):
        return numbers + [0] * (4 - len(numbers))
    x, y = TorchVersion(".".join(map(str, a))), ".".join(map(str, b))
    for other in (y, tuple(b), TorchVersion(y)):
        assert (x < other, x == other, x > other, x <= other, x >= other, x != other) == (
            ordered(a) < ordered(b), ordered(a) == ordered(b), ordered(a) > ordered(b), ordered(a) <= ordered(b),
            ordered(a) >= ordered(b), ordered(a) != ordered(b))


def test_stages_of_versions_are_ordered():
    order = ["1.0.dev3", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0+cpu", "1.0.post1", "1.1.dev0", "1!0.5"]
    assert sorted(map(TorchVersion, reversed(order))) == order
    assert torch.version.__version__ > (2, 12) and torch.version.__version__.split("+")[1] == "minitorch"
    assert TorchVersion("no version") > "a" and {TorchVersion("1.0"): 1}["1.0"] == 1


# ---- hub, types, functional -------------------------------------------------------------------------------------
def test_hub_reads_folders(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['numpy']\nimport beside\n"
                                         "def model(n, k=1):\n    'A model.'\n    return beside.made, n, k\n")
    (tmp_path / "beside.py").write_text("made = 'beside'\n")
    try:
        assert torch.hub.load(tmp_path, "model", 3, source="local", k=2) == ("beside", 3, 2)
    finally:
        sys.modules.pop("beside", None)
    assert "model" in torch.hub.list(tmp_path, source="local")
    assert torch.hub.help(tmp_path, "model", source="local") == "A model."
    with pytest.raises(NotImplementedError, match="clone"):
        torch.hub.load("owner/repository", "model")
    with pytest.raises(RuntimeError, match="nothing"):
        torch.hub.load(tmp_path, "nothing", source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package_x']\ndef model(): pass\n")
    with pytest.raises(RuntimeError, match="no_such_package_x"):
        torch.hub.load(tmp_path, "model", source="local")


def test_hub_downloads_once_and_checks(tmp_path, monkeypatch):
    torch.save({"w": torch.ones(2)}, tmp_path / "weights.pt")
    url = (tmp_path / "weights.pt").as_uri()
    found = torch.hub.load_state_dict_from_url(url, tmp_path / "cache")
    assert found["w"].tolist() == [1, 1] and (tmp_path / "cache" / "weights.pt").exists()
    (tmp_path / "weights.pt").unlink()
    assert torch.utils.model_zoo.load_url(url, tmp_path / "cache")["w"].tolist() == [1, 1]
    torch.save({}, tmp_path / "net-0123abcd.pt")
    with pytest.raises(RuntimeError, match="invalid hash"):
        torch.hub.load_state_dict_from_url((tmp_path / "net-0123abcd.pt").as_uri(), tmp_path, check_hash=True,
                                           file_name="copy-0123abcd.pt")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch.hub.get_dir() == os.path.join(tmp_path, "hub")


def test_old_places_of_functions_hold_the_very_same():
    assert torch.functional.einsum is torch.einsum and torch._tensor.Tensor is torch.Tensor
    assert torch._VF.stack is torch.stack and torch.autograd.variable.Variable is torch.autograd.Variable
    assert torch.types.Number.__args__ == (int, float, bool) and torch.types._size is not None
    assert torch.quantization.QuantStub()(3) == 3
    with pytest.raises(NotImplementedError, match="quantised"):
        torch.ao.quantization.quantize_dynamic(nn.Linear(1, 1))


# ---- helpers ------------------------------------------------------------------------------------------------------
@SMALL
@given(st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=5))
def test_tensors_go_flat_and_back(shapes):
    tensors = [torch.randn(shape) for shape in shapes]
    flat = torch._utils._flatten_dense_tensors(tensors)
    assert flat.shape == (sum(t.numel() for t in tensors),)
    back = torch._utils._unflatten_dense_tensors(flat, tensors)
    assert all(a.equal(b) for a, b in zip(tensors, back))
    chunks = list(torch._utils._take_tensors(tensors, 64))
    assert [id(t) for chunk in chunks for t in chunk] == [id(t) for t in tensors]
    assert all(len(chunk) == 1 or sum(t.nbytes for t in chunk) <= 64 for chunk in chunks)


def test_helpers_of_devices_and_names():
    assert torch._utils._get_device_index("cuda:1") == 1 and torch._utils._get_device_index(2) == 2
    with pytest.raises(ValueError):
        torch._utils._get_device_index("cpu")
    assert torch._utils._get_device_index("cpu", allow_cpu=True) == -1
    assert torch._utils._import_dotted_name("os.path.join") is os.path.join
    assert torch.get_device_module("cpu") is torch.cpu and torch.cpu.device_count() == 1
    assert not torch.xpu.is_available() and not torch.mps.is_available() and not torch.mtia.is_available()
    with pytest.raises(AssertionError):
        torch.xpu.synchronize()


def test_sizes_are_numbers():
    assert (torch.sym_max(2, 3.0), torch.sym_min(2, 3), torch.sym_int(-2.5), torch.sym_not(True)) == (3.0, 2, -2, False)
    assert isinstance(torch.sym_max(3, 2.0), float) and not isinstance(3, torch.SymInt)
    torch._assert(torch.ones(1) > 0, "fine")
    torch._assert_async(torch.ones(1), "fine")
    with pytest.raises(RuntimeError, match="wrong"):
        torch._assert_async(torch.zeros(1), "wrong")
    with pytest.raises(AssertionError, match="wrong"):
        torch._assert(False, "wrong")


def test_handles_of_hooks_are_of_one_class():
    handle_class = torch.utils.hooks.RemovableHandle
    w = torch.ones(1, requires_grad=True)
    linear, optimizer = nn.Linear(1, 1), torch.optim.SGD([w], lr=0.1)
    handles = [w.register_hook(lambda g: None), linear.register_forward_hook(lambda *a: None),
               optimizer.register_step_pre_hook(lambda *a: None)]
    assert all(isinstance(h, handle_class) for h in handles)
    hooks, extra = type("Hooks", (dict,), {})(), type("Hooks", (dict,), {})()
    handle = handle_class(hooks, extra_dict=extra)
    hooks[handle.id] = extra[handle.id] = print
    with handle:
        pass
    assert not hooks and not extra
    handle.remove()
    assert copy.copy(handle).id == handle.id


def test_weak_dictionaries_of_tensors():
    weak = torch.utils.weak.WeakTensorKeyDictionary()
    a, b = torch.ones(2), torch.ones(2)
    weak[a], weak[b] = 1, 2
    assert weak[a] == 1 and weak[b] == 2 and len(weak) == 2 and a in weak and 3 not in weak
    del b
    assert len(weak) == 1 and [x is a for x in weak] == [True]
    with pytest.raises(KeyError):
        weak[torch.ones(2)]


def test_swapped_tensors_exchange_everything():
    a, b = torch.ones(2, requires_grad=True), nn.Parameter(torch.zeros(3))
    a.grad, a.mine = torch.ones(2), "a's"
    torch.utils.swap_tensors(a, b)
    assert type(a) is nn.Parameter and a.tolist() == [0, 0, 0] and b.mine == "a's" and b.grad.tolist() == [1, 1]
    y = b * 2
    with pytest.raises(RuntimeError, match="graph"):
        torch.utils.swap_tensors(a, b)
    y.sum().backward()
    del y
    torch.utils.swap_tensors(a, b)
    assert a.grad.tolist() == [3, 3]


def test_gradients_of_convolutions_as_functions():
    for n, conv in ((1, nn.functional.conv1d), (2, nn.functional.conv2d)):
        x = torch.randn(2, 4, *[7] * n, dtype=torch.float64, requires_grad=True)
        w = torch.randn(6, 2, *[3] * n, dtype=torch.float64, requires_grad=True)
        y = conv(x, w, None, 2, 1, 1, 2)
        g = torch.randn_like(y)
        dx, dw = torch.autograd.grad(y, (x, w), g)
        assert torch.allclose(getattr(nn.grad, f"conv{n}d_input")(x.shape, w, g, 2, 1, 1, 2), dx)
        assert torch.allclose(getattr(nn.grad, f"conv{n}d_weight")(x, w.shape, g, 2, 1, 1, 2), dw)


def test_choices_of_kernels_are_kept():
    from minitorch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        pass
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel("math"):
        pass
    torch.backends.cuda.enable_flash_sdp(False)
    assert not torch.backends.cuda.flash_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(True)
    torch.set_deterministic_debug_mode("warn")
    assert torch.get_deterministic_debug_mode() == 1 and torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode(0)
    assert not torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 0
    assert torch.get_autocast_cpu_dtype() is torch.bfloat16 and not torch.is_autocast_cpu_enabled()
    with torch.cpu.amp.autocast():
        assert torch.is_autocast_cpu_enabled()


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks what is said without a GPU")
def test_old_mixed_precision_is_off_without_a_gpu():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = torch.cuda.amp.GradScaler()
    assert scaler.scale(torch.ones(1)).item() == 1.0 and not scaler.is_enabled()
    with pytest.warns(UserWarning, match="CUDA is not available"), torch.cuda.amp.autocast():
        assert not torch.is_autocast_enabled("cuda")
    with pytest.raises(RuntimeError, match="NVTX"), torch.cuda.nvtx.range("step"):
        pass
    assert torch.cuda.memory_stats() == {} and "memory" in torch.cuda.memory_summary()


# ---- small behaviours of tensors --------------------------------------------------------------------------------
def test_functions_of_python_element_by_element():
    x = torch.arange(6.0).reshape(2, 3)
    version = x._version
    assert x.t().apply_(lambda v: v + 1).tolist() == [[1, 4], [2, 5], [3, 6]] and x._version > version
    assert x.map_(torch.tensor([10.0, 20.0, 30.0]), lambda a, b: a + b).tolist() == [[11, 22, 33], [14, 25, 36]]
    assert torch.ones(2, dtype=torch.int64).apply_(lambda v: v + 1.7).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.requires_grad_().apply_(abs)
    with pytest.raises(TypeError, match="FloatTensor"):
        torch.ones(2).map_(torch.ones(2, dtype=torch.int64), max)


def test_set_looks_at_other_memory():
    x, y = torch.zeros(2), torch.arange(6.0)
    view = x[:1]
    x.set_(y)
    x.mul_(2)
    assert y.tolist() == [0, 2, 4, 6, 8, 10] and view.tolist() == [0] and x.is_set_to(y)
    assert x.set_(y.untyped_storage(), 1, (2, 2), (1, 2)).tolist() == [[2, 6], [4, 8]]
    assert x.set_(y.storage()).shape == (6,) and x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="int"):
        torch.zeros(2).set_(torch.ones(2, dtype=torch.int32))
    with pytest.raises(RuntimeError, match="leaf"):
        torch.zeros(2, requires_grad=True).set_(y)
    assert sys.getsizeof(y.untyped_storage()) > 24 and y.storage().clone().tolist() == y.tolist()
    assert torch.ones(1, 3, 4, 5).to(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1)
    assert torch.ones(4).resize(2, 2).shape == (2, 2) and len(torch.ones(4).split(split_size=3)) == 2


def test_gradients_for_any_iterable():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    for inputs in ({1: x, 2: y}.values(), iter([x, y]), (t for t in (x, y)), {x: 1, y: 2}):
        found = torch.autograd.grad((x * y * y).sum(), inputs)
        assert [g.tolist() for g in found] == [[1, 1], [2, 2]]
    assert torch.autograd.grad((x * y).sum(), x)[0].tolist() == [1, 1]
    assert {"_saved_self", "_saved_other"} <= set(dir((x * y).grad_fn))


def test_weights_alone_unless_the_environment_says_otherwise(monkeypatch):
    def buffer():
        file = io.BytesIO()
        torch.save(Thing(), file)
        file.seek(0)
        return file
    with pytest.raises(pickle.UnpicklingError):
        torch.load(buffer())
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert isinstance(torch.load(buffer()), Thing)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(buffer(), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one"):
        torch.load(buffer())
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(buffer(), weights_only=False)


class Thing:
    """A class of a program's own."""


# ---- optimisers that wrap others -----------------------------------------------------------------------------------
class Wrapper(torch.optim.Optimizer):
    """Takes over another optimizer and never calls ``super().__init__``."""

    def __init__(self, base):
        self.base, self.param_groups, self.state, self.defaults = base, base.param_groups, base.state, base.defaults

    def step(self, closure=None):
        return self.base.step(closure)


def test_an_optimizer_without_init_steps_saves_and_is_scheduled():
    w = torch.ones(2, requires_grad=True)
    wrapper, calls = Wrapper(torch.optim.SGD([w], lr=0.5)), []
    handle = wrapper.register_step_post_hook(lambda *a: calls.append("post"))
    schedule = torch.optim.lr_scheduler.StepLR(wrapper, 1, 0.1)
    w.sum().backward()
    wrapper.step()
    schedule.step()
    assert w.tolist() == [0.5, 0.5] and calls == ["post"] and "lr: 0.05" in repr(wrapper)
    wrapper.load_state_dict(wrapper.state_dict())
    handle.remove()
    wrapper.zero_grad()
    assert w.grad is None and copy.deepcopy(wrapper).param_groups[0]["lr"] == pytest.approx(0.05)


def test_hooks_run_once_around_a_step_put_into_the_class(monkeypatch):
    calls, before = [], torch.optim.SGD.step

    def patched(self, *args, **kwargs):
        calls.append("patched")
        return before(self, *args, **kwargs)
    w = torch.ones(1, requires_grad=True)
    old = torch.optim.SGD([w], lr=0.5)
    old.register_step_pre_hook(lambda *a: calls.append("old"))
    monkeypatch.setattr(torch.optim.SGD, "step", patched)
    w.sum().backward()
    old.step()
    assert calls == ["patched", "old"]
    new = torch.optim.SGD([w], lr=0.5)
    new.register_step_pre_hook(lambda *a: calls.append("new"))
    new.step()
    assert calls[2:] == ["new", "patched"] and w.item() == 0.0


def test_gradients_that_are_views_become_zeros():
    w, flat = torch.ones(4, requires_grad=True), torch.ones(8)
    w.grad = flat[:4]
    torch.optim.SGD([w], lr=0.1).zero_grad(set_to_none=False)
    assert flat.tolist() == [0, 0, 0, 0, 1, 1, 1, 1] and w.grad.data_ptr() == flat.data_ptr()


# ---- memory that processes share -------------------------------------------------------------------------------------
def add(x, queue):
    """In another process."""
    x.add_(5)
    queue.put(x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_processes_see_each_others_writes():
    context = torch.multiprocessing.get_context("fork")
    model = nn.Linear(2, 1)
    twin, before = model.weight.data, model.weight.tolist()
    model.share_memory()
    assert model.weight.is_shared() and twin.is_shared() and model.weight.tolist() == before
    x, queue = torch.zeros(2, 4)[:, 1:], context.Queue()
    assert not x.is_shared() and x.share_memory_() is x and x.is_shared() and x.stride() == (4, 1)
    process = context.Process(target=add, args=(x, queue))
    process.start()
    back = queue.get(timeout=60)
    process.join(60)
    assert x.tolist() == [[5.0] * 3] * 2 and back.is_shared()
    back[0, 0] = 7.0
    assert x[0, 0].item() == 7.0
    assert not pickle.loads(pickle.dumps(x)).is_shared() and not copy.deepcopy(x).is_shared()
    half = torch.ones(3, dtype=torch.bfloat16).share_memory_()
    assert half.is_shared() and half.tolist() == [1, 1, 1] and torch.empty(0).share_memory_().shape == (0,)
    assert np.asarray(x).shape == (2, 3)


# ---- measuring --------------------------------------------------------------------------------------------------
def test_timers_measure_and_tables_show():
    from minitorch.utils import benchmark
    found = [benchmark.Timer("x + x", "x = 1", label="sums", sub_label=str(n), description=d).blocked_autorange(
        min_run_time=0.005) for n in (1, 2) for d in ("a", "b")]
    first = found[0]
    assert 0 < first.median < 1e-3 and first.mean > 0 and first.iqr >= 0 and 1 <= first.significant_figures <= 5
    assert "sums: 1" in repr(first) and pickle.loads(pickle.dumps(first)).times == first.times
    table = benchmark.Compare(found)
    table.trim_significant_figures()
    lines = str(table).splitlines()
    assert "sums" in lines[0] and lines[1].split() == ["|", "a", "|", "b"] and lines[3].split()[0] == "1"
    merged = benchmark.Measurement.merge([first, first])
    assert len(merged) == 1 and len(merged[0].times) == 2 * len(first.times)
    exact = benchmark.Measurement(2, [2.0, 4.0, 6.0, 8.0, 10.0], first.task_spec)
    assert (exact.median, exact.mean, exact.iqr) == (3.0, 3.0, 2.0) and benchmark.select_unit(3e-5) == ("us", 1e-6)
    assert benchmark.Timer("y = 1").timeit(10).number_per_run == 10
    assert benchmark.Timer("y = 1").adaptive_autorange(min_run_time=0.001, max_run_time=0.1).median > 0
    with pytest.raises(NotImplementedError):
        benchmark.Timer("y", language="c++")


def test_settings_and_embeddings_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    from minitorch.utils.tensorboard import SummaryWriter
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "name": "adam", "none": None}, {"loss": 0.5}, {"lr": [0.1, 0.2]}, "run")
        writer.add_embedding(torch.eye(3), ["a", "b", "c"], torch.rand(3, 3, 4, 5), 7, "points")
        writer.add_embedding(torch.eye(2), [[1, 2], [3, 4]], metadata_header=["x", "y"])
        with pytest.raises(TypeError):
            writer.add_hparams([], {})
        with pytest.raises(AssertionError, match="labels"):
            writer.add_embedding(torch.eye(3), ["a"])
    values = [v for file in (tmp_path / "run").iterdir() for e in EventFileLoader(str(file)).Load()
              for v in e.summary.value]
    content = [HParamsPluginData.FromString(v.metadata.plugin_data.content) for v in values if "_hparams_" in v.tag]
    assert len(content) == 3 and content[1].session_start_info.hparams["name"].string_value == "adam"
    assert (tmp_path / "00007" / "points" / "metadata.tsv").read_text() == "a\nb\nc\n"
    assert (tmp_path / "00000" / "default" / "metadata.tsv").read_text() == "x\ty\n1\t2\n3\t4\n"
    assert (tmp_path / "projector_config.pbtxt").read_text().count("embeddings {") == 2


# ---- under the name torch ----------------------------------------------------------------------------------------
PROGRAM = """
import importlib.metadata, torch
from torch.cuda.amp import autocast, GradScaler
from torch.optim.adamw import AdamW
from torch.optim import adamw
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.utils.data._utils.collate import default_collate
from torch.utils.data import _utils
import torch.utils.tensorboard.writer, torch.signal.windows.windows, torch.cuda.random, torch.cuda.nvtx as nvtx
import torch.backends.cuda, torch.autograd.variable, torch.utils.cpp_extension
assert AdamW is torch.optim.AdamW is adamw.AdamW and torch.backends.cuda.math_sdp_enabled()
assert default_collate is torch.utils.data.default_collate and torch.utils.cpp_extension.CUDA_HOME is None
assert torch.__version__ >= (2, 13) and importlib.metadata.version("torch") == torch.__version__, torch.__version__
assert torch.version.cuda is None and torch.__version__.endswith("+minitorch")
import minitorch
assert minitorch.__spec__.name == "minitorch" and minitorch is torch
print("fine")
"""


def test_files_and_versions_under_the_alias(tmp_path, capsys):
    from tests.cli.test_command_line import python
    (tmp_path / "program.py").write_text(PROGRAM)
    assert python("-m", "minitorch", "program.py", cwd=Path(tmp_path)).strip() == "fine"


def test_names_of_what_is_absent():
    from minitorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, is_fake
    from minitorch.fx.experimental.proxy_tensor import get_proxy_mode
    assert not is_fake(torch.ones(1)) and not isinstance(torch.ones(1), FakeTensor) and get_proxy_mode() is None
    for absent in (FakeTensorMode, lambda: FakeTensor(torch.ones(1))):
        with pytest.raises(NotImplementedError, match="meta"):
            absent()


def test_operators_of_pytorch_by_name():
    aten, x = torch.ops.aten, torch.arange(6.0).reshape(2, 3)
    assert torch.equal(aten.add.Tensor(x, x), 2 * x) and torch.equal(aten.slice.Tensor(x, 1, 0, 2), x[:, :2])
    assert torch.equal(aten.index.Tensor(x, [None, torch.tensor([0])]), x[:, [0]]) and str(aten.mm) == "aten.mm"
    assert aten.add.Tensor is torch.ops.aten.add.Tensor and aten.add.Tensor.name() == "aten::add.Tensor"
    assert aten._to_copy.default(x, dtype=torch.float64).dtype is torch.float64
    with pytest.raises(AttributeError, match="nothing_like_it"):
        getattr(aten, "nothing_like_it")                   # noqa: B009
