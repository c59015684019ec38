"""Nested and masked tensors beside PyTorch's: values, shapes, offsets, gradients, texts and classes of errors.

Where PyTorch's own gradients of nested tensors fail or are wrong (softmax along the ragged dimension), only values are
compared; `tests/nested/test_nested.py` compares these with the elements.
"""

import warnings

import pytest

import minitorch

torch = pytest.importorskip("torch")

LIBRARIES = (torch, minitorch)
NESTED = """
len(nt) | nt[0] | nt[-1] | nt[..., 0] | nt.sum() | nt.sum(1) | nt.sum(-1) | nt.sum(0) | nt.sum((0, 1)) | nt.mean(1)
nt.sum((1, 2)) | nt.sum(1, keepdim=True) | nt.mean(-1) | nt.mean() | nt.amax(1) | nt.amax(-1) | nt.max(1)[0] | nt.max()
nt.max(-1)[1] | nt.argmax(1) | nt.prod(1) | nt.softmax(1) | nt.softmax(-1) | nt.softmax(0) | nt.transpose(1, 2)
nt.transpose(0, 1) | nt.permute(0, 2, 1) | nt.view(2, -1, 2, 2) | nt.unflatten(-1, [2, 2]) | nt.reshape(2, -1, 4)
nt.unflatten(-1, [2, 2]).transpose(1, 2) | nt.flatten(1, 2) | nt @ w.t() | nt @ nt.transpose(1, 2)
nt.transpose(1, 2) @ nt | torch.bmm(nt, torch.ones(2, 4, 3)) | torch.cat([nt, nt], -1) | torch.cat([nt, nt], 0)
torch.cat([nt, nt], 1) | torch.stack([nt, nt], -1) | nt.unsqueeze(0) | nt.unsqueeze(-1) | nt.unsqueeze(1)
nt.chunk(2, -1)[1] | nt.chunk(2, 0)[1] | nt.split(2, -1)[0] | nt.unbind()[1] | nt.unbind(1) | nt.narrow(-1, 0, 2)
nt.select(0, 1) | nt.select(1, 0) | nt + 1 | nt + nt | nt + w[0] | nt + torch.ones(2, 1, 4) | nt + torch.ones(2, 3, 4)
nt + torch.ones(2, 1, 1) | nt * torch.ones(1, 1, 4) | nt == nt | torch.where(nt > 0, nt, 0.) | nt.to_padded_tensor(0.)
nt.to_padded_tensor(0., (2, 5, 4)) | nt.values() | nt.offsets() | nt.lengths() | nt.double() | nt.to(torch.bfloat16)
F.linear(nt, w) | F.layer_norm(nt, (4,)) | F.rms_norm(nt, (4,)) | F.gelu(nt) | F.silu(nt) | F.relu(nt)
nt.masked_fill(nt > 0, 0.) | nt.any() | nt.all() | nt.min() | nt.expand(2, nt.size(1), 4) | nt.square().sum()
nt.sum(-1).unsqueeze(-1) * nt | torch.max(nt, torch.zeros_like(nt)) | nt.clamp(min=0) | nt.unflatten(1, [2, 2])
torch.nested.narrow(w.view(2, 3, 4), 1, 0, torch.tensor([2, 3]), layout=torch.jagged)
torch.nested.masked_select(w, w > 0)
torch.nested.nested_tensor_from_jagged(w, torch.tensor([0, 2, 6]), torch.tensor([1, 3])) | nt.layout | nt.stride()
torch.nested.nested_tensor([]) | torch.nested.nested_tensor([w, w[0]], layout=torch.jagged) | nt.numpy() | nt.tolist()
torch.nested.nested_tensor([w, w.t()], layout=torch.jagged) | nt.dim() | nt.size(2) | nt.numel() | nt.is_contiguous()
torch.nested.nested_tensor([w, w.t()]) | torch.nested.nested_tensor([w, w.t()]).to_padded_tensor(1.) | nt.is_nested
torch.nested.nested_tensor([w, w.t()]).size(1) | F.softmax(torch.nested.nested_tensor([w, w * 2]), -1)
F.dropout(nt, 0.5) | torch.rand_like(nt) | torch.nested.nested_tensor([w, w * 2])[1] | bool(nt)
"""
MASKED = """
mt | mt[0] | mt[0, 1] | mt.t() | mt.reshape(-1) | mt[mask] | mt + mt2 | mt + mo | mt + 1 | data / mt | mt.sin() | -mt
mt > 2 | mt == mt2 | mt < mo | mt.isnan() | mt.sum() | mt.sum(0) | mt.sum(1, keepdim=True) | mt.mean(1) | mt.amax(1)
mt.amin(0) | mt.prod(0) | mt.argmax(1) | mt.argmin() | (mt > 0).all(0) | mt.var(0) | mt.std() | mt.softmax(0) | mt.int()
mt.softmax(-1) | mt.expand(2, 2, 3) | torch.cat([mt, mt]) | torch.where(mask, mt, mo) | torch.where(mask, mt, data)
torch.ones_like(mt) | mt.item() | mt[0, 0].item() | mt[0, 1].item() | mt.to_tensor(7.) | mt.get_mask() | mt.numpy()
torch.matmul(mt, data.t()) | torch.masked.masked_tensor(data, mask[0]) | torch.masked.masked_tensor(data, data)
torch.masked.masked_tensor(mt, mask) | mt.double() | mt.unsqueeze(0) | torch.maximum(mt, mt2)
mt.round() | mt.flatten()
"""
REDUCED = "sum mean prod amax amin argmax argmin var std logsumexp median softmax log_softmax softmin cumsum cumprod"


def expressions(text):
    return [x.strip() for line in text.strip().splitlines() for x in line.split("|")]


def nested_names(lib):
    lib.manual_seed(0)
    elements = [lib.randn(2, 4), lib.randn(3, 4)]
    w = lib.randn(6, 4)
    lib.manual_seed(1)
    return {"torch": lib, "F": lib.nn.functional, "w": w, "nt": lib.nested.nested_tensor(elements, layout=lib.jagged)}


def masked_names(lib):
    data, mask = lib.arange(1., 7.).view(2, 3), lib.tensor([[True, False, True], [False, False, True]])
    make = lib.masked.masked_tensor
    return {"torch": lib, "data": data, "mask": mask, "mt": make(data, mask), "mt2": make(data * 2, mask),
            "mo": make(data, ~mask)}


def outcome(lib, expression, names):
    """The comparable outcome: kind, values as lists, structure; or the class of the error."""
    try:
        found = eval(expression, names(lib))
    except Exception as error:
        return type(error).__name__
    return described(found)


def described(x):
    if hasattr(x, "get_mask"):
        return str(x)
    if getattr(x, "is_nested", False):
        parts = [(tuple(y.shape), str(y.dtype), rounded(y)) for y in x.unbind()]
        return "nested", str(x.layout), x.dim(), parts
    if hasattr(x, "tolist"):
        return tuple(x.shape), str(x.dtype), rounded(x)
    return [str(n).lstrip("0123456789*")[:1] if not isinstance(n, int) else n for n in x] if isinstance(
        x, tuple) else str(x)


def rounded(x):
    return [round(v, 4) + 0.0 for v in x.detach().double().flatten().tolist()]


@pytest.mark.parametrize("expression", expressions(NESTED))
def test_nested(expression):
    theirs, ours = [outcome(lib, expression, nested_names) for lib in LIBRARIES]
    assert ours == theirs


@pytest.mark.parametrize("expression", expressions(MASKED))
def test_masked_tensors(expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = [outcome(lib, expression, masked_names) for lib in LIBRARIES]
    assert ours == theirs


@pytest.mark.parametrize("name", REDUCED.split())
def test_masked_functions(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data in ("data", "data.int()", "data.double()", "mt", "data > 2"):
            for mask in ("mask", "mask[0]", "None", "mask[:, :1]", "mask[None]"):
                if data == "mt" and mask != "mask":        # PyTorch sums by its own mask and counts by the other
                    continue
                for more in ("", ", keepdim=True", ", dtype=torch.float64"):
                    call = f"torch.masked.{name}({data}, 1, mask={mask}{more})"
                    theirs, ours = [outcome(lib, call, masked_names) for lib in LIBRARIES]
                    assert str(ours) == str(theirs), call


@pytest.mark.parametrize("call", expressions("""
(nt * nt).sum() | F.linear(nt, w).square().sum() | F.layer_norm(nt, (4,)).amax(-1).sum()
nt.softmax(-1)[1].square().sum()
nt.to_padded_tensor(2.).pow(3).sum() | F.gelu(nt).chunk(2, -1)[0].values().sum() | nt.unflatten(-1, [2, 2]).exp().sum()
"""))
def test_gradients_of_nested_tensors(call):
    found = []
    for lib in LIBRARIES:
        names = nested_names(lib)
        names["nt"].requires_grad_()
        names["w"].requires_grad_()
        eval(call, names).backward()
        w = names["w"].grad
        found.append((rounded(names["nt"].grad.values()), None if w is None else rounded(w)))
    for a, b in zip(*found, strict=True):
        assert a == pytest.approx(b, abs=2e-4)


@pytest.mark.parametrize("call", expressions("""
(mt * mt).sum() | mt.mean(1).sum() | mt.prod() | mt.amax() | mt.exp().sum() | mt.var() | mt.std()
mt.to_tensor(0.).sum()
mt.get_data().sum() | mt.t().sum(0).sum() | torch.where(mask, mt.exp(), torch.ones_like(mo)).sum()
"""))
def test_gradients_of_masked_tensors(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = []
        for lib in LIBRARIES:
            names = masked_names(lib)
            names["mt"] = lib.masked.masked_tensor(names["data"], names["mask"], requires_grad=True)
            eval(call, names).backward()
            found.append(str(names["mt"].grad))
    assert found[0] == found[1]
