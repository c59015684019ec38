"""Programs of users on the device: copies, views, writes, saving, training; and that hot things run
our kernels."""

import copy
import gc
import io
import pickle

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch.backends.cuda.arrays import library
from minitorch.backends.cuda.arrays.namespace import OURS
from tests.backends.cuda.kernel_checks import DEVICE, device, launches


# ---- tensors -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8",
                                   "uint8", "bool", "complex64"])
def test_there_and_back(dtype):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, dtype))
    y = x.to(DEVICE)
    assert y.device == torch.device(device.device) and y.dtype is x.dtype and type(y.array) is device.ndarray
    assert y.tolist() == x.tolist() and y.T[1:].cpu().tolist() == x.T[1:].tolist()
    assert y.to(DEVICE) is y and torch.equal(y.clone().cpu(), x)
    assert repr(y).replace(f", device='{DEVICE}'", "") == repr(x)


def test_factories():
    for made in (torch.zeros(2, 3, device=DEVICE), torch.ones(2, device=DEVICE), torch.full((2,), 7, device=DEVICE),
                 torch.arange(5, device=DEVICE), torch.linspace(0, 1, 5, device=DEVICE), torch.eye(3, device=DEVICE),
                 torch.tensor([1.0], device=DEVICE), torch.randn(3, device=DEVICE),
                 torch.randint(0, 9, (3,), device=DEVICE), torch.empty(2, device=DEVICE),
                 torch.randperm(5, device=DEVICE)):
        assert type(made.array) is device.ndarray
        torch.zeros_like(made), torch.empty_like(made), made.new_ones(2)
    with torch.device(DEVICE):
        assert torch.ones(2).device.type == DEVICE.split(":")[0]
    assert torch.arange(5, device=DEVICE).tolist() == [0, 1, 2, 3, 4]


def test_views_share_memory_and_writes_are_seen():
    x = torch.zeros(4, 6, device=DEVICE)
    x[1:, ::2] = 1
    x.T[0] += torch.ones(4, device=DEVICE)
    x.view(-1)[-1] = 9
    x[x == 9] = torch.tensor(5.0)
    assert x.sum().item() == 9 + 4 + 5 and x.storage_offset() == 0 and x[1:, 2].storage_offset() == 8
    assert x.as_strided((2, 2), (6, 1), 1).tolist() == x[:2, 1:3].tolist()
    y = x[1]
    with torch.no_grad():
        y.zero_()
    assert x[1].tolist() == [0] * 6 and x._version == y._version
    assert x.permute(1, 0).is_contiguous() is False and x.data_ptr() == x.T.data_ptr()


def test_indices():
    x = torch.arange(24.0, device=DEVICE).reshape(4, 6)
    host = x.cpu()
    i, m = torch.tensor([3, 0]), host > 11
    assert x[i.to(DEVICE)].tolist() == host[i].tolist() and x[m.to(DEVICE)].tolist() == host[m].tolist()
    assert x[[1, 2], 3].tolist() == [9, 15] and x[..., -1].tolist() == [5, 11, 17, 23]
    x[i.to(DEVICE), 1] = -1.0
    assert x[:, 1].tolist() == [-1, 7, 13, -1]


def test_pickled_copied_saved():
    x = torch.arange(3.0, device=DEVICE)
    assert pickle.loads(pickle.dumps(x)).tolist() == [0, 1, 2] and copy.deepcopy(x).device == x.device
    model = nn.Linear(3, 2).to(DEVICE)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    for where in ("cpu", DEVICE):
        file.seek(0)
        state = torch.load(file, map_location=where)
        assert state["weight"].device.type == where.split(":")[0]
        assert torch.equal(state["weight"].cpu(), model.weight.cpu())
        nn.Linear(3, 2).to(DEVICE).load_state_dict(state)


def test_devices_do_not_mix():
    x = torch.ones(2, device=DEVICE)
    for mix in (lambda: x + torch.ones(2), lambda: torch.cat([x, torch.ones(2)]), lambda: x @ torch.ones(2)):
        with pytest.raises(RuntimeError, match="same device"):
            mix()
    assert (x * torch.tensor(2.0)).tolist() == [2, 2]
    with pytest.raises(TypeError, match="host array"):
        x.array + np.ones(2)


@pytest.mark.skipif(DEVICE != "sim", reason="a second device: there may be one GPU only")
def test_several_devices():
    x, y = torch.ones(2, device="sim:1", requires_grad=True), torch.ones(2, device="sim")
    with pytest.raises(RuntimeError, match="same device.*sim:1"):
        x + y
    (x.to("sim") + y).sum().backward()
    assert x.grad.device == torch.device("sim:1") and x.grad.tolist() == [1, 1]


def test_gradients_come_back_from_the_device():
    w = torch.ones(2, requires_grad=True)
    (w.to(DEVICE) * torch.tensor([2.0, 3.0], device=DEVICE)).sum().backward()
    assert w.grad.device.type == "cpu" and type(w.grad.array) is np.ndarray and w.grad.tolist() == [2, 3]


def test_memory_comes_back():
    if DEVICE != "sim":
        pytest.skip("CuPy's pool has tests of its own")
    gc.collect()                                           # tensors in tracebacks of errors that other tests expect
    machine = device.machine
    before = machine.allocated
    x = torch.ones(1000, device=DEVICE)
    y = (x * 2)[3:]
    assert machine.allocated - before >= 8000
    del x, y
    assert machine.allocated == before


def test_out_of_memory_leaves_all_as_it_was(monkeypatch):
    x = torch.ones(1000, device=DEVICE)

    def allocate(nbytes):
        raise torch.cuda.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {nbytes} bytes.")
    with monkeypatch.context() as patch:
        patch.setattr(device.machine, "allocate", allocate)
        for call in (lambda: x + x, lambda: torch.zeros(9, device=DEVICE), lambda: x.sum(), lambda: x.cpu().to(DEVICE)):
            with pytest.raises(torch.cuda.OutOfMemoryError, match="Tried to allocate"):
                call()
    assert (x + x).sum().item() == 2000


# ---- training ------------------------------------------------------------------------------------------------
def networks():
    """(network, inputs, labels) of three kinds, on the CPU."""
    g = torch.Generator().manual_seed(1)
    whole = lambda high, *shape: torch.randint(0, high, shape, generator=g)
    mlp = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.LayerNorm(20), nn.Linear(20, 5))
    yield "mlp", mlp, torch.randn(9, 12, generator=g), whole(5, 9)
    cnn = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(64, 5))
    yield "cnn", cnn, torch.randn(6, 1, 8, 8, generator=g), whole(5, 6)
    block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu")
    gpt = nn.Sequential(nn.Embedding(11, 16), block, nn.Linear(16, 11))
    yield "transformer", gpt, whole(11, 2, 6), whole(11, 2, 6)


def train(model, x, y, steps=3):
    """The losses of a few steps, and all parameters and buffers at the end, as NumPy arrays.

    With a large `eps`: gradients that are zero but for rounding, as that of a bias before a normalisation, would
    otherwise be blown up to steps of full length.
    """
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-2, eps=1e-3), []
    for _ in range(steps):
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, [t.detach().cpu().numpy() for t in model.state_dict().values()]


@pytest.mark.parametrize("kind", ["mlp", "cnn", "transformer"])
def test_training_agrees_with_the_cpu(kind):
    torch.manual_seed(0)
    _, model, x, y = next(case for case in networks() if case[0] == kind)
    twin = copy.deepcopy(model).to(DEVICE)
    losses, state = train(model, x, y)
    with torch.backends.cudnn.flags(allow_tf32=False):     # convolutions would round to 10 bits
        ours, our_state = train(twin, x.to(DEVICE), y.to(DEVICE))
    np.testing.assert_allclose(ours, losses, rtol=1e-5)
    for a, b in zip(our_state, state):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", ["mlp", "cnn", "transformer"])
def test_training_never_calls_the_library(kind, monkeypatch):
    """A training step calls no function of CuPy or NumPy, and indexes without them."""
    torch.manual_seed(0)
    _, model, x, y = next(case for case in networks() if case[0] == kind)
    called = []
    real, real_of = library.function, library.function_of

    def function(backend, path):
        found = real(backend, path)
        if library.is_view(path):
            return found
        return lambda *a, **k: (called.append(path), found(*a, **k))[1]

    def function_of(backend, f):
        return lambda *a, **k: (called.append(f.__name__), real_of(backend, f)(*a, **k))[1]
    monkeypatch.setattr(library, "function", function)
    monkeypatch.setattr(library, "function_of", function_of)
    train(model.to(DEVICE), x.to(DEVICE), y.to(DEVICE), steps=2)
    assert called == []


def test_what_goes_through_the_host_is_in_numpy():
    for path in library.THROUGH_HOST:
        assert callable(library.find(np, path))


# Hot functions, which must never fall back to the library.
HOT = ("abs absolute add all any arange argmax argmin array asarray ascontiguousarray astype clip "
       "concatenate copy copysign copyto cos count_nonzero divide dot empty empty_like equal exp "
       "exp2 expm1 eye floor floor_divide full full_like greater greater_equal invert isfinite "
       "isinf isnan less less_equal log log10 log1p log2 logical_and logical_not logical_or matmul "
       "max maximum mean min minimum mod multiply negative not_equal ones ones_like pad power prod "
       "reciprocal remainder repeat rint roll sign sin sqrt square stack std subtract sum tanh "
       "tile tril triu true_divide var where zeros zeros_like").split()


def test_hot_names_are_ours():
    assert set(HOT) <= set(OURS), f"none of our kernels for {sorted(set(HOT) - set(OURS))}"
    x = device.from_host(np.ones((2, 3), "f4"))
    with launches() as names:
        device.xp.add(x, x), device.xp.sum(x), device.xp.concatenate([x, x]), device.xp.where(x > 0, x, 0)
    assert len(names) >= 5


def test_gradients_of_a_network_in_float64():
    from minitorch.autograd import gradcheck
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64, device=DEVICE, requires_grad=True)
    w = torch.randn(5, 4, dtype=torch.float64, device=DEVICE, requires_grad=True)
    assert gradcheck(lambda x, w: F.gelu(F.linear(x, w)).softmax(1).pow(2).sum() + x.std(), (x, w))


def test_mixed_precision():
    torch.manual_seed(0)
    model, x = nn.Linear(8, 4).to(DEVICE), torch.randn(5, 8).to(DEVICE)
    with torch.autocast("cuda" if DEVICE.startswith("cuda") else DEVICE, dtype=torch.bfloat16):
        y = model(x)
    assert y.dtype is torch.bfloat16
    y.float().sum().backward()
    assert model.weight.grad.dtype is torch.float32


def test_data_loader():
    from minitorch.utils.data import DataLoader, TensorDataset
    data = TensorDataset(torch.arange(10.0).reshape(5, 2), torch.arange(5))
    seen = [(x.to(DEVICE, non_blocking=True), y.to(DEVICE)) for x, y in DataLoader(data, 2)]
    assert torch.cat([y for _, y in seen]).tolist() == [0, 1, 2, 3, 4] and seen[0][0].tolist() == [[0, 1], [2, 3]]


def test_nothing_loads_cupy_before_it_is_asked_for():
    import subprocess
    import sys
    program = ("import sys, minitorch as torch; torch.backends.cuda.matmul.allow_tf32 = True; torch.cuda.is_available; "
               "torch.backends.cuda.load_kernel; print([m for m in ('cupy', 'ml_dtypes') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


# ---- torch.cuda ----------------------------------------------------------------------------------------------
def test_cuda_without_a_gpu():
    cuda = torch.cuda
    if cuda.is_available():
        pytest.skip("there is a GPU")
    assert cuda.device_count() == 0 and not cuda.is_initialized() and cuda.memory_allocated() == 0
    cuda.empty_cache(), cuda.manual_seed(0), cuda.manual_seed_all(0)
    for call in (cuda.current_device, cuda.synchronize, cuda.get_device_name, cuda.Stream, cuda.Event,
                 lambda: torch.ones(2, device="cuda"), lambda: torch.ones(2).cuda(), lambda: cuda.set_device(0)):
        with pytest.raises(RuntimeError, match="Found no NVIDIA driver.*device 'sim'"):
            call()
    assert torch.ones(2).pin_memory().is_pinned() is False


def test_cuda_with_a_gpu():
    cuda = torch.cuda
    if not DEVICE.startswith("cuda"):
        pytest.skip("no GPU: run with --device cuda")
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    x = torch.ones(1 << 20, device=DEVICE)
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        y = x * 2
    cuda.current_stream().wait_stream(stream)
    end.record()
    cuda.synchronize()
    assert y.sum().item() == 2 << 20 and start.elapsed_time(end) > 0
    cuda.reset_peak_memory_stats()
    z = torch.ones(1 << 20, device=DEVICE)
    assert cuda.max_memory_allocated() >= cuda.memory_allocated() >= z.nbytes
    with pytest.raises(cuda.OutOfMemoryError, match="Tried to allocate"):
        torch.empty(1 << 45, device=DEVICE)
    assert (z + 1).sum().item() == 2 << 20
    pinned = torch.arange(1000.0).pin_memory()
    assert pinned.is_pinned() and torch.equal(pinned.to(DEVICE, non_blocking=True).cpu(), pinned)
    assert cuda.get_device_capability() >= (7, 0) and cuda.get_device_name()
