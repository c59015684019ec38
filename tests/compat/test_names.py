"""Names that programs import: small modules of `utils`, hooks, wrappers of optimisers and more."""

import copy
import io
import os
import pickle
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn

SMALL = settings(max_examples=30, deadline=None, derandomize=True, database=None)


# ---- old places -------------------------------------------------------------------------------------
def test_old_places_of_functions_hold_the_very_same():
    assert torch.functional.einsum is torch.einsum and torch._tensor.Tensor is torch.Tensor
    assert torch._VF.stack is torch.stack and torch.autograd.variable.Variable is torch.autograd.Variable
    assert torch.types.Number.__args__ == (int, float, bool) and torch.types._size is not None


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


def test_names_of_what_is_absent():
    from minitorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, is_fake
    assert not is_fake(torch.ones(1)) and not isinstance(torch.ones(1), FakeTensor)
    for absent in (FakeTensorMode, lambda: FakeTensor(torch.ones(1))):
        with pytest.raises(NotImplementedError, match="meta"):
            absent()
