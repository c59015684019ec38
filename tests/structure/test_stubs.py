"""The stubs say what is there: names, arguments and results; editors and type checkers see them."""

import ast
import importlib.util
import inspect
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minitorch
import minitorch as torch
from minitorch.core import tensor as tensor_module
from minitorch.core.registry import FUNCTIONS, OPS
from minitorch.testing.strategies import Draw
from tests import DATA, ROOT
from tests.structure import stub_checks

PROGRAMS = DATA / "stubs"
STUBS = {place: stub_checks.read(place) for place in stub_checks.FILES}


def test_stubs_are_current():
    spec = importlib.util.spec_from_file_location("build_stubs", ROOT / "docs" / "build_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in module.stubs().items():
        assert (ROOT / "minitorch" / name).read_text() == text, f"{name}: run python docs/build_stubs.py"


# ---- names -------------------------------------------------------------------------------------------------
def names_in(body):
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {name.asname or name.name for name in node.names}
    return found


def parsed(file):
    return ast.parse((ROOT / "minitorch" / file).read_text()).body


def test_the_package_stub_has_every_public_name():
    internal = {"importlib", "warnings", "FUNCTIONS", "late", "call", "dtypes", "einops_backend", "PARTS", "ELSEWHERE"}
    public = {name for name in dir(minitorch) if not name.startswith("_")} - internal
    others = {name for name in vars(minitorch) if getattr(minitorch, name) is sys.modules.get(f"minitorch.{name}")}
    assert sorted(public - others - names_in(parsed("__init__.pyi"))) == []
    assert {*minitorch.PARTS, *minitorch.ELSEWHERE, "__version__"} <= names_in(parsed("__init__.pyi"))


def test_the_tensor_stub_has_every_name():
    body = parsed("core/tensor.pyi")
    defined = {name for name, value in vars(tensor_module).items() if not name.startswith("_")
               and getattr(value, "__module__", "") == tensor_module.__name__}
    assert defined <= names_in(body)
    methods = names_in(next(node for node in body if getattr(node, "name", "") == "Tensor").body)
    inherited = {*dir(object), "__dict__", "__weakref__", "__module__", "__annotations__"}
    inherited.add("__getattr__")                           # of DTensors, once they are imported: type checkers would
                                                           # read it as a promise of every name
    assert sorted(set(dir(torch.Tensor)) - methods - inherited) == []


@pytest.mark.parametrize("package", ["nn", "nn.utils"])
def test_packages_export_what_they_import(package):
    module = importlib.import_module(f"minitorch.{package}")
    public = {name for name, value in vars(module).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert public <= names_in(parsed(package.replace(".", "/") + "/__init__.pyi"))


# ---- arguments and results ---------------------------------------------------------------------------------
def parameters(signatures, real=()):
    """The names in a stub, without NumPy's names of arguments, which all functions take, but for those in `real`."""
    return {name for s in signatures for name in s.parameters} - {"axis", "keepdims"}.difference(real)


@pytest.mark.parametrize("key", FUNCTIONS, ids=".".join)
def test_the_parameters_are_those_of_the_function(key):
    place, name = key
    real = set(inspect.signature(FUNCTIONS[key].call).parameters)
    if name.endswith("_") and not name.startswith("_"):
        real -= {"out"}
    assert parameters(STUBS[place][name], real) == real


DEFINED = [key for key, public in FUNCTIONS.items() if getattr(public.call, "op", None) in OPS.values()
           and (public.call.op.sample or public.call.op.inputs[0].kind != "variadic")]


def tensors(inputs):
    return [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in inputs]


def check(place, name, args, kwargs, result):
    assert stub_checks.complaints(STUBS[place][name], args, kwargs, result) == []


@pytest.mark.parametrize("key", DEFINED, ids=".".join)
def test_annotations_hold_for_the_samples_of_definitions(key):
    place, name = key
    public = FUNCTIONS[key]
    for seed in range(4):
        inputs, attrs = Draw(random.Random(seed)).op_sample(public.call.op)
        if public.call.op.inputs[0].kind == "variadic":
            args = [tensors(inputs)]
        else:
            args = tensors(inputs)
        check(place, name, args, attrs, public.call(*args, **attrs))
        if public.method:
            check("Tensor", name, args, attrs, getattr(args[0], name)(*args[1:], **attrs))


x, m, i = torch.tensor([[3.0, 1.0], [2.0, 5.0]]), torch.tensor([[True, False], [False, True]]), torch.tensor([0, 1])
CALLS = """
    zeros(2, 3); zeros((2, 3)); zeros([2]); ones(()); rand(2); randn((2,)); full((2,), 1.0); arange(3); eye(2)
    linspace(0, 1, 3); tensor([1, 2]); as_tensor([1.0]); zeros(2, dtype=torch.int64, device='cpu'); empty(2)
    zeros_like(x); full_like(x, 2); randint(3, (2,)); randint(1, 3, (2,)); randperm(3); bernoulli(m.float())
    add(x, 1); add(1, x); add(x, x, alpha=2); sub(x, 1.5); mul(True, x); div(x, 2, rounding_mode='floor')
    pow(2, x); pow(x, 2); where(m, x, 0.0); where(m); clamp(x, max=x); clamp(x, min=0.5); maximum(x, x); sum(x)
    sum(x, 0); sum(x, (0, 1), keepdim=True); sum(x, axis=0, keepdims=True); mean(x, dim=-1); prod(x, 0); max(x)
    max(x, 0); max(x, x); max(x, dim=1, keepdim=True); max(x, axis=0); min(x, 1); median(x); median(x, 0); sort(x)
    topk(x, 1); kthvalue(x, 1); mode(x); cummax(x, 0); cummin(x, 1); aminmax(x); frexp(x); argmax(x); var(x)
    std(x, 0, unbiased=False); var_mean(x); std_mean(x, dim=0); nonzero(m); nonzero(m, as_tuple=True); unique(i)
    unique(i, return_counts=True); unique_consecutive(i); cumsum(x, 0); cumsum(x, axis=0); logsumexp(x, 0)
    cat([x, x]); cat((x, x), dim=1); stack([x, x]); split(x, 1); split(x, [1, 1], dim=1); chunk(x, 2); unbind(x)
    tensor_split(x, 2); hsplit(x, 2); vsplit(x, [1]); meshgrid(i, i, indexing='ij'); broadcast_tensors(x, i)
    broadcast_shapes((2, 1), (3,)); atleast_1d(x, x); block_diag(x, x); cartesian_prod(i, i); combinations(i)
    reshape(x, (4,)); permute(x, (1, 0)); transpose(x, 0, 1); flatten(x); squeeze(x); squeeze(x, 0)
    unsqueeze(x, 0); unflatten(x, 0, (2, 1)); flip(x, (0,)); roll(x, 1); roll(x, (1, 1), (0, 1)); rot90(x)
    tile(x, (2,)); movedim(x, 0, 1); repeat_interleave(x, 2); repeat_interleave(x, i, dim=0)
    gather(x, 0, i.unsqueeze(0)); index_select(x, 0, i); masked_fill(x, m, 0); masked_select(x, m)
    scatter(x, 0, i.unsqueeze(0), 1.0); take_along_dim(x, i.unsqueeze(0), 0); bucketize(i, i); searchsorted(i, i)
    isin(i, 1); histc(x, 3); histogram(x, 3); bincount(i); unravel_index(i, (2, 2)); matmul(x, x)
    einsum('ij,jk->ik', x, x); tensordot(x, x, dims=1); tensordot(x, x, ([0], [1])); norm(x); norm(x, 2, 0)
    dist(x, x); cdist(x, x, p=1.0); qr(x); svd(x); slogdet(x); lu(x); lu_unpack(*torch.linalg.lu_factor(x))
    gradient(x); triangular_solve(x, x); equal(x, x); allclose(x, x); is_tensor(1); numel(x); is_floating_point(x)
    is_nonzero(x[0, 0]); initial_seed(); manual_seed(0); set_rng_state(torch.get_rng_state()); diff(x)
    trapezoid(x, dx=0.5); cov(x); histogramdd(x, 2); quantile(x, 0.5, dim=0); nan_to_num(x, 0.0); lerp(x, x, 0.5)
    addmm(x, x, x, beta=2, alpha=0.5); linalg.qr(x); linalg.svd(x); linalg.eig(x); linalg.eigh(x)
    linalg.slogdet(x); linalg.lu(x); linalg.lu_factor(x); linalg.lstsq(x, x); linalg.inv_ex(x)
    linalg.solve_ex(x, x); linalg.lu_factor_ex(x); linalg.cholesky_ex(x @ x.mT); linalg.norm(x)
    linalg.norm(x, 'fro'); linalg.norm(x, dim=(0, 1)); linalg.vector_norm(x, 1); linalg.cond(x, 'fro')
    linalg.matrix_rank(x); linalg.pinv(x, rtol=0.1); linalg.multi_dot([x, x]); linalg.solve(x, x)
    linalg.matrix_power(x, 2); fft.fft(x); fft.fft(x, 4, norm='ortho'); fft.fft2(x, (2, 2))
    fft.rfftn(x, dim=(0, 1)); fft.fftshift(x); fft.fftfreq(4); special.expit(x); special.polygamma(1, x)
    special.softmax(x, 0); special.logsumexp(x, (0, 1)); special.zeta(2.0, x); nn.functional.relu(x, inplace=False)
    nn.functional.softmax(x, dim=0); nn.functional.dropout(x, 0.5, training=True)
    nn.functional.cross_entropy(x, i, label_smoothing=0.1); nn.functional.mse_loss(x, x, reduction='sum')
    nn.functional.linear(x, x, None); nn.functional.conv2d(x[None, None], x[None, None], padding='same', stride=1)
    nn.functional.conv2d(x[None, None], x[None, None], padding=(1, 1)); nn.functional.max_pool2d(x[None], 2)
    nn.functional.max_pool2d(x[None], 2, return_indices=True)
    nn.functional.max_pool2d_with_indices(x[None], (2, 2)); nn.functional.adaptive_avg_pool2d(x[None], (1, None))
    nn.functional.adaptive_max_pool2d(x[None], 1, return_indices=True)
    nn.functional.interpolate(x[None, None], scale_factor=2); nn.functional.interpolate(x[None, None], size=(3, 3))
    nn.functional.pad(x, (1, 1), value=0.0); nn.functional.layer_norm(x, (2,)); nn.functional.one_hot(i)
    nn.functional.batch_norm(x, None, None, training=True); nn.functional.normalize(x, dim=0); nn.functional.glu(x)
    nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]); nn.functional.embedding(i, x)
    nn.functional.add_layer_norm(x, x); nn.functional.add_rms_norm(x, x); nn.functional.gumbel_softmax(x, tau=0.5)
    x.view(4); x.view(2, -1); x.view((4,)); x.reshape(-1); x.expand(3, 2, 2); x.repeat(1, 2); x.permute(1, 0)
    x.size(); x.size(0); x.stride(); x.stride(1); x.to(torch.float64); x.to('cpu'); x.to('cpu', torch.int64)
    x.to(x); x.type(); x.type(torch.int32); x.ndimension(); x.tolist(); x.numpy(); x.dim(); x.numel()
    x.is_contiguous(); x.new_zeros(2, 3); x.new_full((2,), 1); x.new_ones((2,)); x.new_tensor([1.0])
    x.where(m, 0.0); x.max(0); x.max(); x.sum(1); x.sum(axis=(0, 1)); x.argsort(); x.unique(); x.masked_fill(m, 1)
    x.clone().add_(1); x.clone().clamp_(0, 1); x.clone().normal_(); x.clone().uniform_(0, 1); x.clone().random_(3)
    x.clone().copy_(x); x.clone().fill_(2); x.clone().masked_fill_(m, 0); x.clone().index_fill_(0, i, 1)
    x.clone().zero_(); x.clone().bernoulli_(x * 0); x.clone().transpose_(0, 1); x.clone().unsqueeze_(0)
    x.clone().resize_(1, 4); x.float(); x.long(); x.contiguous(); x.detach(); x.storage_offset(); x.data_ptr()
    x.element_size(); x.untyped_storage(); x.unfold(0, 1, 1); x.split(1); x.chunk(2); x.unbind(0); x.topk(1)
    x.sort(descending=True); x.var(0); x.flip(0); x.flip((0, 1)); x.tile(2); x.lu(); x.get_device(); x.is_pinned()
    x.type_as(i); x.view_as(x); x.sum_to_size(1, 2); x.clone().requires_grad_()
"""


class Recorder:
    """Stands where a namespace or a tensor does, and compares each call with the stub."""

    def __init__(self, thing, place):
        self.thing, self.place = thing, place

    def __getattr__(self, name):
        found = getattr(self.thing, name)
        inner = f"{self.place}.{name}".lstrip(".")
        if inspect.ismodule(found):
            return Recorder(found, inner)

        def call(*args, **kwargs):
            result = found(*args, **kwargs)
            first = [self.thing] if self.place == "Tensor" else []
            check(self.place, name, [*first, *args], kwargs, result)
            return result
        return call


@pytest.mark.parametrize("text", [t.strip() for t in re.split(r"[;\n]", CALLS) if t.strip()])
def test_annotations_hold_for_calls(text):
    torch.manual_seed(0)
    scope = {"torch": torch, "x": x, "m": m, "i": i}
    if text.startswith("x.clone()."):
        scope["recorder"] = Recorder(x.clone(), "Tensor")
    else:
        scope["recorder"] = Recorder(x, "Tensor") if text.startswith("x.") else Recorder(torch, "")
    eval("recorder." + text.removeprefix("x.").removeprefix("clone()."), scope)


def test_operators():
    for text in ("x + 1", "1 - x", "x @ x", "x < 2", "x == x", "-x", "x ** 2", "2 / x", "~m", "m & m", "x[0]"):
        assert isinstance(eval(text), torch.Tensor)
    for name in ("__add__", "__rsub__", "__matmul__", "__lt__", "__neg__", "__getitem__", "__iadd__", "__invert__"):
        assert STUBS["Tensor"][name][0].return_annotation is torch.Tensor


# ---- editors -----------------------------------------------------------------------------------------------
def script(code):
    jedi = pytest.importorskip("jedi", reason="completes names, and is not installed")
    return jedi.Script("import minitorch as torch\n" + code, project=jedi.Project(ROOT))


def completed(code):
    return {c.name for c in script(code).complete()}


@pytest.mark.parametrize("code, wanted", [
    ("torch.ra", "rand randn randint randperm rand_like random range ravel"),
    ("x = torch.ones(2)\nx.su", "sum sub subtract sum_to_size"),
    ("x = torch.ones(2)\n(x * 2 + 1).mean(0).req", "requires_grad requires_grad_"),
    ("torch.ones(2).max(0).val", "values"), ("torch.floa", "float float16 float32 float64"), ("torch.sav", "save"),
    ("torch.nn.Lin", "Linear"), ("torch.nn.functional.cross_", "cross_entropy"), ("torch.linalg.ei", "eig eigh"),
    ("torch.fft.rf", "rfft rfft2"), ("torch.special.exp", "expit exp2"), ("torch.utils.da", "data"),
    ("torch.optim.Ada", "Adam AdamW"), ("torch.no_g", "no_grad"), ("torch.autoc", "autocast")])
def test_an_editor_completes(code, wanted):
    assert set(wanted.split()) <= completed(code)


def test_an_editor_shows_arguments_and_documentation():
    assert [p.name for p in script("torch.ones(2).sum(").get_signatures()[0].params][:3] == ["dim", "keepdim", "dtype"]
    assert [p.name for p in script("torch.matmul(").get_signatures()[0].params] == ["input", "other", "out"]
    assert "matrix product" in script("torch.matmul").help()[0].docstring().lower()


# ---- type checkers -----------------------------------------------------------------------------------------
def mistakes():
    lines = (PROGRAMS / "bad.py").read_text().splitlines()
    return [n for n, line in enumerate(lines, 1) if "# mistake" in line]


def run(tmp_path, *command):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", *command, str(PROGRAMS / "good.py"), str(PROGRAMS / "bad.py")],
                          capture_output=True, text=True, cwd=tmp_path, env=env)


def test_mypy_finds_the_ten_mistakes(tmp_path):
    pytest.importorskip("mypy", reason="checks types, and is not installed")
    done = run(tmp_path, "mypy", "--config-file=", "--ignore-missing-imports", f"--cache-dir={tmp_path}")
    errors = re.findall(r"(\w+)\.py:(\d+): error", done.stdout)
    assert errors == [("bad", str(n)) for n in mistakes()], done.stdout
    assert len(errors) == 10


def test_pyright_finds_the_ten_mistakes(tmp_path):
    pytest.importorskip("pyright", reason="checks types, and is not installed")
    done = run(tmp_path, "pyright", "--outputjson", "--pythonpath", sys.executable)
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        pytest.skip("pyright does not run here: " + (done.stderr or done.stdout)[-200:])
    errors = [(Path(e["file"]).stem, e["range"]["start"]["line"] + 1) for e in found if e["severity"] == "error"]
    assert sorted(errors) == [("bad", n) for n in mistakes()], found


def test_the_sample_program_runs(tmp_path):
    done = subprocess.run([sys.executable, str(PROGRAMS / "good.py")], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0 and 0 <= float(done.stdout) <= 1, done.stderr
