"""Cases that bugs planted in the library once survived: each is what no other test saw. See `tests/mutation`."""

import copy
import io
import warnings
import zipfile

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn


# ---- autograd ----------------------------------------------------------------------------------------------
def test_gradients_of_a_sum_do_not_share_memory():
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(5)
    assert a.grad.tolist() == [5, 5, 5] and b.grad.tolist() == [1, 1, 1]
    c = torch.ones(3, requires_grad=True)
    seed = torch.ones(3)
    (c + 0).backward(seed)
    c.grad.mul_(7)
    assert seed.tolist() == [1, 1, 1]


def test_a_graph_that_saved_a_gradient_is_not_betrayed_by_the_next_one():
    """PyTorch accumulates in place and refuses then; a right answer would do, a wrong one would not."""
    x, w = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    (x * 5).sum().backward()
    y = (x.grad * w).sum()                                 # keeps x.grad, 5
    (x * 10).sum().backward()                              # x.grad is 15 now
    assert x.grad.tolist() == [15]
    try:
        y.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:
        assert w.grad.tolist() == [5]


def test_a_seed_of_another_dtype_becomes_the_results():
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(2, dtype=dtype, requires_grad=True)
        (x * 3).backward(torch.tensor([1.0, 2.0], dtype=torch.float64))
        assert x.grad.dtype is dtype and x.grad.tolist() == [3, 6]


# ---- out= that is an input ---------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [
    lambda x, i: torch.cat([x[:2], x[2:]], out=x), lambda x, i: torch.gather(x, 0, i, out=x),
    lambda x, i: torch.take(x, i, out=x), lambda x, i: torch.index_select(x, 0, i, out=x),
    lambda x, i: torch.stack([x, x], out=x.expand(2, 4)),
], ids=["cat", "gather", "take", "index_select", "stack"])
def test_out_that_is_the_input_is_refused_or_right(call):
    x = torch.arange(4.0)
    expected = {"cat": [0, 1, 2, 3]}
    try:
        found = call(x, torch.tensor([3, 0, 0, 1]))
    except RuntimeError as error:
        assert "memory" in str(error) and x.tolist() == [0, 1, 2, 3]
    else:
        assert found.tolist() in ([3, 0, 0, 1], expected["cat"])


# ---- layers and optimisers ---------------------------------------------------------------------------------
def test_feature_alpha_dropout_rests_in_evaluation():
    layer, x = nn.FeatureAlphaDropout(0.5), torch.ones(4, 3, 2)
    torch.manual_seed(0)
    dropped = layer(x)
    assert (dropped != 1).any() and (dropped == dropped[..., :1]).all()
    state = torch.get_rng_state()
    assert layer.eval()(x).equal(x) and torch.get_rng_state().equal(state)


def test_attention_drops_weights_in_training_only():
    torch.manual_seed(0)
    q = torch.randn(2, 5, 4)
    plain = F.scaled_dot_product_attention(q, q, q)
    assert not F.scaled_dot_product_attention(q, q, q, dropout_p=0.5).allclose(plain)
    layer = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
    assert not layer(q, q, q)[0].allclose(layer(q, q, q)[0])
    layer.eval()
    assert layer(q, q, q)[0].equal(layer(q, q, q)[0])


def test_loading_leaves_the_callers_state_alone():
    p = nn.Parameter(torch.ones(2))
    one = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = torch.ones(2)
    one.step()
    saved = one.state_dict()
    kept = copy.deepcopy(saved)
    q = nn.Parameter(torch.ones(2))
    two = torch.optim.SGD([q], lr=0.7)
    two.load_state_dict(saved)
    two.param_groups[0]["lr"] = 99.0
    two.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})
    q.grad = torch.ones(2)
    two.step()
    assert saved["param_groups"] == kept["param_groups"] and list(saved["state"]) == list(kept["state"])
    assert one.param_groups[0]["lr"] == 0.1


# ---- compiled functions ------------------------------------------------------------------------------------
def test_compiled_functions_tell_strides_apart():
    function = torch.compile(lambda x: x.t().reshape(-1) * 2 + x.stride(0))
    rows = torch.arange(6.0)
    for x in (rows.reshape(2, 3), rows.reshape(3, 2).t(), torch.arange(12.0).reshape(2, 6)[:, ::2]):
        for _ in range(3):
            assert function(x).tolist() == (x.t().reshape(-1) * 2 + x.stride(0)).tolist()


def test_compiled_functions_tell_dict_keys_apart():
    def total(batch):
        found = torch.zeros(2)
        for k, (_name, value) in enumerate(batch.items()):
            found = found + value * (k + 1)
        return found + batch.get("bias", 0)
    compiled = torch.compile(total)
    one, two = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
    for batch in ({"a": one, "b": two}, {"a": one, "bias": two}, {"bias": one, "a": two}, {"a": one}):
        for _ in range(3):
            assert compiled(batch).tolist() == total(batch).tolist()


def test_compiled_copies_are_taken_before_the_source_is_written():
    def program(x):
        y = x * 2
        z = y.clone()
        w = y.contiguous().reshape(-1).clone()
        y.add_(100)
        return z + 1, y, w
    compiled, x = torch.compile(program), torch.arange(4.0)
    for _ in range(3):
        for a, b in zip(compiled(x), program(x)):
            assert a.tolist() == b.tolist()


def test_compiled_functions_do_not_warn_where_eager_ones_do_not():
    compiled = torch.compile(lambda x: (x.exp() / 0).log())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="minitorch")
        for _ in range(3):
            assert compiled(torch.full((3,), 1e3)).tolist() == [float("inf")] * 3


@pytest.mark.parametrize("n", [5, 70_000])
def test_compiled_chains_do_not_reuse_what_is_still_read(n):
    """Long enough for blocks; early values are needed late."""
    def program(x, y):
        a = x * y
        b = a + x
        c = b * a
        d = (c - b).exp().clamp(max=2)
        e = d * a + c
        return e * b + d, a + e, c.sum() + (d * x).sum()
    torch.manual_seed(0)
    x, y = torch.randn(n), torch.randn(n)
    compiled = torch.compile(program)
    for _ in range(3):
        for a, b in zip(compiled(x, y), program(x, y)):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=1e-5)
        x = x + 0.25
    assert ("in blocks" in compiled.source) == (n > 1000) and ("out=" in compiled.source) == (n > 1000)


# ---- files -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shift", range(1, 9))
@pytest.mark.parametrize("mmap", [False, True])
def test_arrays_at_odd_places_in_a_file(tmp_path, shift, mmap):
    """Another writer need not align its storages: entries are moved by a few bytes of padding in the first header."""
    values = {"a": torch.arange(5, dtype=torch.float64), "b": torch.arange(3, dtype=torch.int16)}
    buffer = io.BytesIO()
    torch.save(values, buffer)
    path = tmp_path / "moved.pt"
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            info = zipfile.ZipInfo(entry.filename)
            info.extra = b"FB" + shift.to_bytes(2, "little") + bytes(shift)
            new.writestr(info, old.read(entry))
    found = torch.load(path, mmap=mmap)
    assert found["a"].tolist() == [0, 1, 2, 3, 4] and found["b"].tolist() == [0, 1, 2]
    assert (found["a"] + 1).tolist() == [1, 2, 3, 4, 5]
    found["a"][0] = 7
    assert found["a"].sum().item() == 17


# ---- found by tests/mutation -------------------------------------------------------------------------------
@pytest.mark.parametrize("size, stride, offset", [((5,), (1,), 0), ((4,), (1,), 1), ((2, 2), (3, 1), 0),
                                                  ((1,), (1,), 4)])
def test_views_stay_inside_their_memory(size, stride, offset):
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        torch.arange(4.0).as_strided(size, stride, offset)
    assert torch.arange(4.0).as_strided((2, 2), (2, 1), 0).tolist() == [[0, 1], [2, 3]]
    assert torch.arange(4.0).as_strided((0, 9), (1, 1), 0).shape == (0, 9)


def test_leaves_are_told_apart_in_the_graph():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (one, _), (two, _) = (x * y).grad_fn.next_functions
    assert one != two and one != "AccumulateGrad" and (x * x).grad_fn.next_functions[0][0] == one


def test_anomaly_mode_speaks_only_of_what_lies_behind():
    x = torch.zeros(1, requires_grad=True)
    with torch.autograd.detect_anomaly():
        torch.zeros(1, requires_grad=True).log().sum()     # infinite, but elsewhere
        y = (x.sqrt() * 0).sum()
        with pytest.raises(RuntimeError) as error:
            y.backward()
    assert "All values of the forward pass were finite" in str(error.value)


def test_inference_mode_records_nothing_and_can_be_off():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert not (x * 2).requires_grad and torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    with torch.inference_mode(False):
        assert (x * 2).requires_grad and not torch.is_inference_mode_enabled()
    assert not torch.inference_mode()(lambda: x * 2)().requires_grad and (x * 2).requires_grad
    assert not torch.inference_mode(lambda: x * 2)().requires_grad


def test_functions_of_two_numbers_need_a_tensor():
    for call in (lambda: torch.pow(2.0, 3.0), lambda: torch.exp(1.0), lambda: torch.maximum(1, 2)):
        with pytest.raises(TypeError, match="Tensor"):
            call()


def test_results_of_several_arrays_are_tensors_of_their_dtype():
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        found = torch.tensor([0.1, 0.3], dtype=dtype).tolist()
        assert [type(v) for v in found] == [float, float]
        assert found == [torch.tensor(v, dtype=dtype).item() for v in (0.1, 0.3)]
    assert torch.tensor([0.1], dtype=torch.float64).tolist() == [0.1]


def test_broadcast_tensors_takes_a_list_too():
    for found in (torch.broadcast_tensors([torch.ones(2, 1), torch.ones(3)]),
                  torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))):
        assert [tuple(x.shape) for x in found] == [(2, 3), (2, 3)]


def test_what_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="bool"):
        torch.trapezoid(torch.tensor([True, False]))
    with pytest.raises(RuntimeError, match="linalg.cond.*square"):
        torch.linalg.cond(torch.ones(2, 3), 1)
    for options in ({"momentum": -1}, {"weight_decay": -1}, {"lr": -1}, {"nesterov": True}):
        with pytest.raises(ValueError):
            torch.optim.SGD([nn.Parameter(torch.ones(1))], **options)
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), use_trivialization=False,
                                                 orthogonal_map="matrix_exp")
    with pytest.raises(NotImplementedError, match="use_trivialization=False"):
        layer.weight = torch.eye(2)


def test_the_slope_of_a_variance_at_its_ends():
    two, one = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    two.var().backward()
    one.var(correction=1).backward()
    assert two.grad.tolist() == [-2, 2] and one.grad.isnan().all()


def test_density_of_a_histogram_of_two_dimensions():
    torch.manual_seed(0)
    points = torch.rand(200, 2) * torch.tensor([1.0, 4.0])
    hist, (first, second) = torch.histogramdd(points, [3, 5], density=True)
    areas = (first[1:] - first[:-1])[:, None] * (second[1:] - second[:-1])
    assert hist.shape == (3, 5) and (hist * areas).sum().item() == pytest.approx(1, abs=1e-5)
    uneven = torch.histogramdd(points, (torch.tensor([0.0, 0.1, 1.0]), torch.tensor([0.0, 3.0, 4.0])), density=True)
    areas = torch.tensor([[0.3, 0.1], [2.7, 0.9]])
    assert (uneven.hist * areas).sum().item() == pytest.approx(1, abs=1e-5)


def test_products_in_place():
    x, a, b = torch.ones(2, 2, 2), torch.full((2, 2, 3), 2.0), torch.ones(2, 3, 2)
    assert x.baddbmm_(a, b, alpha=0.5).tolist() == [[[4, 4], [4, 4]]] * 2
    assert torch.ones(2, 2).addmm_(torch.eye(2), torch.eye(2)).tolist() == [[2, 1], [1, 2]]
    assert torch.ones(2).addmv_(torch.eye(2), torch.tensor([1.0, 2.0]), beta=2).tolist() == [3, 4]
    assert torch.addr(torch.ones(1, 2), torch.ones(1), torch.ones(2), out=x[0, :1]).tolist() == [[2, 2]]
    assert x[0].tolist() == [[2, 2], [4, 4]]
    assert torch.ones(1, 2).addr_(torch.ones(1), torch.tensor([1.0, 2.0])).tolist() == [[2, 3]]


def test_random_numbers_into_a_given_tensor():
    out = torch.zeros(1)
    torch.manual_seed(3)
    with pytest.warns(UserWarning, match="was resized"):
        found = torch.rand(2, 3, out=out)
    torch.manual_seed(3)
    assert found is out and out.shape == (2, 3) and out.equal(torch.rand(2, 3))


def test_old_names_of_reductions_in_losses():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert nn.MSELoss(reduce=False).reduction == "none"
    with pytest.warns(UserWarning, match="reduction='mean'"):
        assert nn.MSELoss(reduce=True).reduction == "mean"


def test_memory_formats_are_for_images_only():
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Linear(3, 2)).to(memory_format=torch.channels_last)
    assert model[0].weight.is_contiguous(memory_format=torch.channels_last) and model[1].weight.is_contiguous()


def test_padding_modes_with_no_padding():
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    for mode in ("zeros", "reflect", "circular", "replicate"):
        layer = nn.Conv2d(1, 1, 3, padding="valid", padding_mode=mode, bias=False)
        nn.init.ones_(layer.weight)
        assert layer(x).tolist() == [[[[45, 54], [81, 90]]]]


def test_spectral_norm_looks_along_the_outputs():
    normed = nn.utils.parametrizations.spectral_norm
    for layer, n in ((nn.Linear(3, 2), 2), (nn.Conv1d(3, 5, 2), 5), (nn.ConvTranspose1d(3, 5, 2), 5)):
        assert normed(layer).parametrizations.weight[0]._u.shape == (n,)
    assert normed(nn.Linear(3, 2), dim=1).parametrizations.weight[0]._u.shape == (3,)


def test_functional_call_merges_dicts():
    layer = nn.Linear(2, 1)
    one, two = {"weight": torch.ones(1, 2)}, {"bias": torch.tensor([5.0])}
    for call in (torch.func.functional_call, nn.utils.stateless.functional_call):
        assert call(layer, (one, two), torch.ones(1, 2)).tolist() == [[7]]
        assert call(layer, {**one, **two}, torch.ones(1, 2)).tolist() == [[7]]
    with pytest.raises(ValueError, match="appeared in multiple"):
        nn.utils.stateless.functional_call(layer, (one, one), torch.ones(1, 2))


def test_hooks_of_all_modules_run_and_go():
    seen = []
    before = nn.modules.module.register_module_forward_pre_hook(lambda module, args: seen.append("before"))
    after = nn.modules.module.register_module_forward_hook(lambda module, args, out: seen.append("after"))
    layer = nn.Linear(1, 1)
    layer(torch.ones(1))
    again = nn.modules.module.register_module_forward_hook(lambda module, args, out: seen.append("again"))
    layer(torch.ones(1))
    before.remove(), after.remove(), again.remove()
    layer(torch.ones(1))
    assert seen == ["before", "after", "before", "after", "again"]
    seen[2:] = []
    layer.register_forward_hook(lambda *_: seen.append("first"))
    layer.register_forward_hook(lambda *_: seen.append("second"))
    layer.register_forward_hook(lambda *_: seen.append("zeroth"), prepend=True)
    layer(torch.ones(1))
    assert seen[2:] == ["zeroth", "first", "second"]


def test_modules_tell_their_own_and_all_parts():
    model = nn.Sequential(nn.BatchNorm1d(2))
    assert len(list(model.buffers())) == 3 and len(list(model.buffers(recurse=False))) == 0
    assert len(list(model.parameters())) == 2 and not list(model.parameters(recurse=False))
    assert not model.train(False)[0].training and model.train()[0].training


def test_optimisers_of_old_pickles_get_later_options():
    optimizer = torch.optim.Adam([nn.Parameter(torch.ones(1))])
    state = copy.deepcopy(optimizer.__getstate__())
    for group in state["param_groups"]:
        for name in ("maximize", "foreach", "fused", "differentiable"):
            group.pop(name, None)
    old = torch.optim.Adam.__new__(torch.optim.Adam)
    old.__setstate__(state)
    group = old.param_groups[0]
    assert group["maximize"] is False and group["foreach"] is None
    group["params"][0].grad = torch.ones(1)
    old.step()


def test_cyclic_rates_do_not_decay_unless_asked():
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, 2, mode="exp_range")
    seen = []
    for _ in range(8):
        optimizer.step()
        schedule.step()
        seen.append(round(schedule.get_last_lr()[0], 6))
    assert seen == [0.15, 0.2, 0.15, 0.1] * 2


def test_norms_of_nothing():
    for x in (torch.ones(0, 4, 3), torch.ones(2, 4, 0)):
        x.requires_grad_()
        found = F.group_norm(x, 2, torch.ones(4), torch.zeros(4))
        found.sum().backward()
        assert found.shape == x.shape and x.grad.shape == x.shape


def test_infinities_are_replaced_by_what_is_given():
    x = torch.tensor([float("inf"), -float("inf"), float("nan"), 1.0])
    assert x.nan_to_num(5.0, 6.0, -7.0).tolist() == [6, -7, 5, 1]
    limit = torch.finfo(torch.float32).max
    assert x.nan_to_num().tolist() == [limit, -limit, 0, 1] and x.nan_to_num(neginf=3.0).tolist() == [limit, 3, 0, 1]
    assert torch.tensor([3]).nan_to_num(1.0).tolist() == [3]


def test_compiled_functions_say_what_runs_eagerly():
    compiled = torch.compile(lambda x: x * 2 if x.sum().item() > 0 else x)
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert any("runs eagerly" in note for note in compiled.notes)
    with pytest.raises(RuntimeError, match="runs eagerly"):
        torch.compile(lambda x: x * x.sum().item(), fullgraph=True)(torch.ones(2))


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_betas_are_numbers_or_tensors(name):
    with pytest.raises(ValueError, match="betas must be either both floats or both Tensors"):
        getattr(torch.optim, name)([nn.Parameter(torch.ones(1))], betas=(torch.tensor(0.9), 0.999))
