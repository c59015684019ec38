"""autocast and GradScaler on the CPU: types of results, gradients, skipped steps, checkpoints."""

import threading

import pytest

import minitorch as torch
from minitorch import nn
from minitorch.amp import GradScaler, custom_bwd, custom_fwd
from minitorch.nn import functional as F


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def test_which_ops_run_in_which_type(layer):
    x = torch.randn(4, 3)
    with torch.autocast("cpu"):
        y = layer(x)
        assert y.dtype == (x @ x.t()).dtype == torch.bfloat16
        assert (y + 1).dtype == torch.bfloat16 and (y + x.sum()).dtype == torch.bfloat16
        assert F.mse_loss(y, torch.zeros(4, 2)).dtype == torch.float32
        assert (x + 1).dtype == torch.float32, "only products are cast down"
        assert F.conv2d(torch.randn(1, 1, 4, 4), torch.randn(1, 1, 2, 2)).dtype == torch.bfloat16
    assert layer(x).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_come_back_in_float32_and_agree(layer, dtype):
    x = torch.randn(8, 3)
    layer(x).square().mean().backward()
    exact = layer.weight.grad.clone()
    layer.zero_grad()
    with torch.autocast("cpu", dtype=dtype):
        loss = layer(x).float().square().mean()
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32
    torch.testing.assert_close(layer.weight.grad, exact, rtol=0.05, atol=0.02)


def test_blocks_nest_and_decorate(layer):
    x = torch.randn(4, 3)
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled("cuda")
        with torch.autocast("cpu", enabled=False):
            assert layer(x).dtype == torch.float32
        assert layer(x).dtype == torch.bfloat16
    assert torch.autocast("cpu")(layer)(x).dtype == torch.bfloat16
    with pytest.raises(KeyError), torch.autocast("cpu"):
        raise KeyError
    assert not torch.is_autocast_enabled("cpu") and layer(x).dtype == torch.float32
    with pytest.warns(UserWarning, match="target dtype is not supported"), torch.autocast("cpu", dtype=torch.float64):
        assert layer(x).dtype == torch.float32


def test_each_thread_has_its_own_switch(layer):
    found = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(layer(torch.randn(4, 3)).dtype))
        thread.start()
        thread.join()
    assert found == [torch.float32]


def test_errors_inside_a_cast_call_leave_the_switch_on(layer):
    with torch.autocast("cpu"):
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            layer(torch.randn(4, 5))
        assert layer(torch.randn(4, 3)).dtype == torch.bfloat16


def test_scaler_steps_like_plain_training(layer):
    twin = nn.Linear(3, 2)
    twin.load_state_dict(layer.state_dict())
    scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    ours, theirs = torch.optim.SGD(layer.parameters(), lr=0.1), torch.optim.SGD(twin.parameters(), lr=0.1)
    for i in range(4):
        x = torch.randn(5, 3)
        for optimizer in (ours, theirs):
            optimizer.zero_grad()
        scaler.scale(layer(x).square().mean()).backward()
        scaler.step(ours)
        scaler.update()
        twin(x).square().mean().backward()
        theirs.step()
        assert scaler.get_scale() == 1024 * 2 ** ((i + 1) // 2)
    torch.testing.assert_close(layer.weight, twin.weight)


def test_scaler_skips_steps_that_overflowed(layer):
    scaler, optimizer = GradScaler("cpu", init_scale=4.0), torch.optim.SGD(layer.parameters(), lr=0.1)
    before = layer.weight.detach().clone()
    scaler.scale((layer(torch.ones(1, 3)) * float("inf")).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert torch.equal(layer.weight, before) and scaler.get_scale() == 2


def test_scaler_order_and_state(layer):
    scaler, optimizer = GradScaler("cpu"), torch.optim.SGD(layer.parameters(), lr=0.1)
    for early in (scaler.update, lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer)):
        with pytest.raises(AssertionError, match="before anything was scaled"):
            early()
    scaler.scale(torch.ones(()))
    with pytest.raises(AssertionError, match="No inf checks"):
        scaler.update()
    with pytest.raises(AssertionError, match="for this optimizer"):
        scaler.step(optimizer)                             # there is no gradient
    scaler.update(scaler.get_scale())
    scaler.scale(layer(torch.ones(1, 3)).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    assert layer.bias.grad.tolist() == [1, 1], "gradients to clip are the true ones"
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update(8.0)
    layer.half()
    scaler.scale(layer(torch.ones(1, 3, dtype=torch.float16)).sum()).backward()
    with pytest.raises(ValueError, match="FP16"):
        scaler.step(optimizer)
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 8
    off = GradScaler("cpu", enabled=False)
    assert off.get_scale() == 1 and off.state_dict() == {} and off.scale(3) == 3


def test_functions_under_mixed_precision():
    class Double(torch.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            assert x.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
            return x * 2

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return g * 2
    x = torch.ones(2, requires_grad=True)
    with torch.autocast("cpu"):
        y = Double.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


# ---- what is cast ------------------------------------------------------------------------------------------
# x (4, 4), v (4,), b (4, 4, 4), q (1, 4, 4, 4); those ending in 32 are float32, the others of the type that is tried.
PRODUCTS = """
F.conv1d(b,b)
F.conv2d(q,q)
F.conv3d(q[None],q[None])
F.conv_transpose1d(b,b)
F.conv_transpose2d(q,q.transpose(0,1))
F.conv_transpose3d(q[None],q[None])
F.prelu(b,v)
F.linear(x,x,v)
F.scaled_dot_product_attention(b,b,b)
x @ x
b @ v
torch.matmul(b,x)
torch.mm(x,x)
torch.bmm(b,b)
torch.addmm(x,x,x)
torch.addbmm(x,b,b)
torch.baddbmm(b,b,b)
torch.einsum('ij,jk->ik',x,x)
torch.einsum('ij,ij->i',x,x)
torch.chain_matmul(x,x,x)
torch.linalg.multi_dot([x,x,x])
torch.linalg.vecdot(x,x)
x.mm(x)
""".split("\n")[1:-1]
PRODUCTS_OF_VECTORS = ["torch.mv(x,v)", "torch.addmv(v,x,v)", "torch.addr(x,v,v)", "torch.einsum('i,j->ij',v,v)"]
LOSSES = """
F.mse_loss(x,x)
F.l1_loss(x,x)
F.smooth_l1_loss(x,x)
F.huber_loss(x,x)
F.kl_div(x,x)
F.nll_loss(x,i)
F.cross_entropy(x,i)
F.cross_entropy(x,x.softmax(1))
F.poisson_nll_loss(x,x)
F.cosine_embedding_loss(x,x,v.sign())
F.hinge_embedding_loss(x,x.sign())
F.margin_ranking_loss(v,v,v.sign())
F.multilabel_margin_loss(x,i.repeat(4,1))
F.soft_margin_loss(x,x.sign())
F.triplet_margin_loss(x,x,x)
F.multi_margin_loss(x,i)
F.binary_cross_entropy_with_logits(x,x)
torch.cdist(x,x)
torch.prod(x)
""".split("\n")[1:-1]
ON_CUDA = """
torch.acos(x)
torch.asin(x)
torch.cosh(x)
torch.erfinv(x)
torch.exp(x)
torch.expm1(x)
torch.log(x)
torch.log10(x)
torch.log2(x)
torch.log1p(x)
torch.reciprocal(x)
torch.rsqrt(x)
torch.sinh(x)
torch.tan(x)
torch.pow(x,2)
torch.pow(x,x)
F.softplus(x)
F.layer_norm(x,(4,),v,v)
F.layer_norm(x,(4,),v32,v32)
F.rms_norm(x,(4,),v)
F.rms_norm(x,(4,),v32)
F.group_norm(x,2,v,v)
F.group_norm(x,2,v32,v32)
F.cosine_similarity(x,x)
F.pdist(x)
F.interpolate(b,scale_factor=2)
F.interpolate(b,scale_factor=2,mode='linear')
F.interpolate(q,scale_factor=2,mode='bicubic')
F.softmax(x,0)
F.log_softmax(x,0)
torch.dist(x,x)
torch.renorm(x,2,0,1.0)
torch.logsumexp(x,0)
torch.cumprod(x,0)
torch.cumsum(x,0)
torch.sum(x)
torch.norm(x)
torch.linalg.vector_norm(x)
torch.linalg.matrix_norm(x)
torch.linalg.matrix_norm(x,'nuc')
""".split("\n")[1:-1]
ON_CPU = """
F.avg_pool3d(q,2)
F.max_pool3d(q,2)
F.adaptive_avg_pool3d(q,2)
F.adaptive_max_pool3d(q,2)
F.fractional_max_pool2d(q,2,output_size=2)
F.max_unpool2d(*F.max_pool2d(q,2,return_indices=True),2)
F.grid_sample(q,torch.zeros(1,2,2,2))
F.pad(b,(1,1),'reflect')
F.pad(q[0],(1,1,1,1),'replicate')
torch.quantile(x,0.5)
torch.trace(x)
torch.linalg.inv(s)
torch.linalg.cholesky(s)
torch.linalg.solve(s,x)
torch.linalg.svd(x)[1]
torch.fft.irfft(x)
""".split("\n")[1:-1]
WIDEST = ["F.bilinear(x,x32,b32)", "torch.dot(v,v32)", "torch.tensordot(x,x32,1)", "torch.atan2(x,x32)",
          "torch.addcmul(x,x32,x)", "torch.addcdiv(x,x,x32)", "torch.linalg.cross(x[:3],x32[:3],dim=0)",
          "torch.scatter_add(x32,0,i[None],x)", "F.grid_sample(q,torch.zeros(1,2,2,2))"]
UNTOUCHED = ["x + x", "torch.relu(x)", "x.mean()", "F.gelu(x)", "F.max_pool2d(q,2)", "F.dropout(x)", "torch.var(x)",
             "F.pad(b,(1,1))", "torch.cat([x,x])", "F.embedding(i,x)"]


def type_in(expression, kind, given, monkeypatch):
    """The type of an expression under mixed precision in bfloat16, its devices taken for those of `kind`."""
    monkeypatch.setattr("minitorch.amp.autocast_mode.kind_of", lambda device_type: kind)
    torch.manual_seed(0)
    wide = {"x32": torch.rand(4, 4) * 0.9 + 0.05, "v32": torch.rand(4) + 0.1, "b32": torch.rand(4, 4, 4),
            "q32": torch.rand(1, 4, 4, 4)}
    names = wide | {name[0]: t.to(given) for name, t in wide.items()}
    names |= {"s": (wide["x32"] @ wide["x32"].T + torch.eye(4)).to(given), "i": torch.tensor([0, 1, 2, 3])}
    with torch.autocast(kind, dtype=torch.bfloat16):
        return eval(expression, {"torch": torch, "F": F, **names}).dtype


BOTH = ("cpu", "cuda")


@pytest.mark.parametrize("expression, kinds", [
    *[(e, BOTH) for e in PRODUCTS], *[(e, ("cuda",)) for e in PRODUCTS_OF_VECTORS]], ids=str)
def test_products_are_cast_down(expression, kinds, monkeypatch):
    for kind in BOTH:
        assert type_in(expression, kind, torch.bfloat16, monkeypatch) is torch.bfloat16
        wanted = torch.bfloat16 if kind in kinds else torch.float32
        assert type_in(expression, kind, torch.float32, monkeypatch) is wanted, kind


@pytest.mark.parametrize("expression, kinds", [
    *[(e, BOTH) for e in LOSSES], *[(e, ("cuda",)) for e in ON_CUDA], *[(e, ("cpu",)) for e in ON_CPU]], ids=str)
def test_what_needs_range_or_precision_is_cast_up(expression, kinds, monkeypatch):
    for kind in kinds:
        assert type_in(expression, kind, torch.float32, monkeypatch) is torch.float32
        assert type_in(expression, kind, torch.bfloat16, monkeypatch) is torch.float32, kind
    if kinds == ("cuda",) and "nuc" not in expression and "32" not in expression:
        assert type_in(expression, "cpu", torch.bfloat16, monkeypatch) is torch.bfloat16


@pytest.mark.parametrize("expression", WIDEST)
def test_the_widest_type_is_taken_on_cuda(expression, monkeypatch):
    assert type_in(expression, "cuda", torch.bfloat16, monkeypatch) is torch.float32
    assert type_in(expression, "cuda", torch.float32, monkeypatch) is torch.float32


@pytest.mark.parametrize("expression", UNTOUCHED)
def test_all_else_runs_in_the_type_of_its_inputs(expression, monkeypatch):
    for kind in BOTH:
        for given in (torch.bfloat16, torch.float32):
            assert type_in(expression, kind, given, monkeypatch) is given


def test_a_product_of_mixed_types(layer):
    x = torch.randn(4, 3).bfloat16()
    with torch.autocast("cpu"):
        assert (x @ x.float().T).dtype is torch.bfloat16
        assert F.conv2d(torch.ones(1, 1, 3, 3).bfloat16(), torch.ones(1, 1, 2, 2)).dtype is torch.bfloat16
        assert torch.index_copy(torch.zeros(4, 3), 0, torch.arange(4), x).dtype is torch.float32
    with pytest.raises(RuntimeError, match="same dtype"):
        x @ x.float().T


def test_calls_with_out_and_in_place_are_not_cast():
    x = torch.full((2, 2), 1 + 2.0**-12)
    exact, out, y = x @ x, torch.empty(2, 2), x.clone()
    with torch.autocast("cpu"):
        assert torch.mm(x, x, out=out) is out
        y.addmm_(x, x, beta=0)
    assert out.equal(exact) and y.equal(exact)


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(make):
    torch.manual_seed(0)
    layer, x = make(4, 3), torch.rand(5, 2, 4)
    exact = layer(x)[0]
    with torch.autocast("cpu"):
        for given in (x, x.bfloat16()):
            found = layer(given)[0]
            wide = make is nn.GRU and given is x           # as PyTorch: its state is in float32
            assert found.dtype is (torch.float32 if wide else torch.bfloat16)
            torch.testing.assert_close(found.float(), exact, rtol=0.05, atol=0.02)
    found.float().sum().backward()
    assert all(p.grad.dtype is torch.float32 for p in layer.parameters())


@pytest.mark.parametrize("norm", [nn.BatchNorm2d(3), nn.GroupNorm(3, 3), nn.InstanceNorm2d(3, affine=True)])
def test_norms_after_convolutions(norm):
    model, x = nn.Sequential(nn.Conv2d(2, 3, 1), norm), torch.rand(2, 2, 3, 3)
    with torch.autocast("cpu"):
        out = model(x)
        loss = F.mse_loss(out, torch.zeros_like(out))
    loss.backward()
    assert out.dtype is torch.bfloat16 and loss.dtype is torch.float32
    assert all(p.grad.dtype is torch.float32 for p in model.parameters())


def test_the_type_of_mixed_precision_is_the_one_that_was_asked_for():
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.get_autocast_dtype("cpu") is torch.float16
        with torch.autocast("cpu", enabled=False):
            assert torch.get_autocast_dtype("cpu") in (torch.bfloat16, torch.float16)
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16


def test_a_scaler_refuses_an_empty_state():
    scaler = torch.amp.GradScaler("cpu")
    with pytest.raises(RuntimeError, match="state dict is empty"):
        scaler.load_state_dict({})


@pytest.mark.parametrize("log_target", [False, True])
def test_divergences_are_float32_in_mixed_precision(log_target):
    x = torch.linspace(-3, -1, 6).view(2, 3).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        found = torch.nn.functional.kl_div(x, x if log_target else x.exp(), reduction="batchmean",
                                           log_target=log_target)
    assert found.dtype == torch.float32 and abs(found.item()) < 0.02
