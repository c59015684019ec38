"""Random programs of several calls, drawn line by line: what PyTorch runs is kept."""

import random

import pytest

from .compared import FLOATS, is_float, run_line, scope_of, works

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")


# ---- drawing -----------------------------------------------------------------------------------------------
class Draft:
    """A program in the making, with what PyTorch says of its tensors so far."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.scope = scope_of(torch)
        self.n = 0
        self.block = None                                  # the text of an open ``with`` block

    def names(self, test=lambda t: True):
        found = [k for k, t in self.scope.items() if k[0] == "t" and k[1:].isdigit() and torch.is_tensor(t)]
        return [k for k in found if works(test, self.scope[k])]

    def tensor(self, test=lambda t: True):
        found = self.names(test)
        # The youngest half of the time, so that chains grow.
        return (found[-1] if self.rng.random() < 0.5 else self.rng.choice(found)) if found else None

    def new(self):
        self.n += 1
        return f"t{self.n - 1}"

    def add(self, line, within=True):
        """Keep the line if PyTorch runs it, or, sometimes, if it refuses it."""
        if within and self.block and self.rng.random() < 0.6:
            line = f"with {self.block}: {line}"
        scope = dict(self.scope)
        try:
            run_line(line, scope)
        except Exception as error:
            if self.rng.random() < 0.1 and not isinstance(error, (SyntaxError, NameError, AttributeError)):
                self.lines.append(line)
            return False
        if any(torch.is_tensor(t) and t.numel() > 4000 for k, t in scope.items() if k not in self.scope):
            return False
        self.scope.update(scope)
        self.lines.append(line)
        return True


def draw(seed, length=14):
    """The lines of one program, and whether PyTorch ran each."""
    draft = Draft(seed)
    rng = draft.rng
    draft.add(f"torch.manual_seed({rng.randrange(100)})")
    for _ in range(rng.randint(1, 3)):
        leaf(draft)
    steps = 0
    while steps < length:
        steps += 1
        if rng.random() < 0.06:
            draft.block = rng.choice([None, None, "torch.no_grad()", "torch.enable_grad()",
                                      "torch.autocast('cpu', torch.bfloat16)"])
        rng.choices(STEPS, WEIGHTS)[0](draft)
    draft.block = None
    ending(draft)
    return draft.lines


# ---- lines -------------------------------------------------------------------------------------------------
def shape(rng, least=0, most=3):
    return tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(least, most)))


def leaf(d):
    rng, name = d.rng, d.new()
    dtype = rng.choice(["float32"] * 6 + ["float64", "bfloat16", "bfloat16", "float16"])
    grad = rng.random() < 0.6
    text = f"{name} = torch.randn({shape(rng, 1)}).to(torch.{dtype})"
    if rng.random() < 0.15:
        text = f"{name} = torch.randn({shape(rng, 2)}).to(torch.{dtype}).transpose(0, 1)"
    if rng.random() < 0.1:
        text, grad = f"{name} = torch.randint(-3, 4, {shape(rng, 1)})", False
    if grad:
        text += ".requires_grad_()"
    d.add(text)


def scalar(rng):
    return rng.choice(["2", "0.5", "-1.5", "3", "True"])


def index(d, name):
    rng, t = d.rng, d.scope[name]
    parts = []
    for n in t.shape[:rng.randint(1, max(1, t.dim()))]:
        i = rng.randrange(-n, n) if n else 0
        parts.append(rng.choice([str(i), ":", f"{rng.randrange(n + 1)}:", f":{rng.randrange(n + 1)}", "::2", "None",
                                 f"[{i}, {rng.randrange(-n, n) if n else 0}]", f"torch.tensor([{i}])"]))
    if rng.random() < 0.1:
        parts.insert(rng.randint(0, len(parts)), "...")
    if rng.random() < 0.1:
        return f"{name} > 0"
    return ", ".join(parts) or "..."


def dim_of(d, name):
    n = max(1, d.scope[name].dim())
    return d.rng.randrange(-n, n)


VIEWS = """{x}.transpose({a}, {b}) | {x}.unsqueeze({a}) | {x}.squeeze() | {x}.reshape(-1) | {x}.view(-1) | {x}.flatten()
{x}[{i}] | {x}[{i}] | {x}.select({a}, 0) | {x}.narrow({a}, 0, {less}) | {x}.movedim({a}, {b}) | {x}.expand({wide})
{x}.diagonal() | {x}.detach() | {x}.mT | {x}.unfold({a}, {two}, 1) | {x}.chunk(2, {a})[0] | {x}.split(1, {a})[-1]
{x}.unbind({a})[0] | {x}.view_as({x}) | {x}.permute({order}) | {x}.as_strided(({two},), (1,)) | {x}.swapaxes({a}, {b})
{x}.data | {x}.contiguous() | {x}.unflatten({a}, (1, -1)) | {x}.tensor_split(2, {a})[0]"""
UNARY = """{x}.sin() | {x}.exp() | {x}.tanh() | {x}.sigmoid() | {x}.abs() | {x}.neg() | {x}.relu() | {x}.square()
{x}.clone()
{x}.log1p() | {x}.sqrt() | {x}.reciprocal() | {x}.isnan() | {x}.float() | {x}.double() | {x}.half() | {x}.bfloat16()
{x}.cos() | {x}.erf() | {x}.logical_not() | {x}.exp2() | {x}.expm1() | {x}.rsqrt() | {x}.atan() | {x}.softmax(-1)
{x}.log_softmax(-1) | {x}.cumsum(0) | {x}.flip(0) | {x}.sort()[0] | {x}.tril() | {x}.roll(1) | {x}.repeat(2, 1)
{x}.nan_to_num() | {x}.clamp(-1, 0.5) | {x}.pow(2) | {x}.logsumexp(-1) | {x}.repeat_interleave(2) | {x}.cumprod(0)
{x}.cummax(0)[0] | {x}.topk(1)[0] | {x}.deg2rad() | {x}.triu() | {x}.masked_fill({x} > 0, {n}) | {x}.logcumsumexp(0)"""
BINARY = """{x} + {y} | {x} - {y} | {x} * {y} | {x} / {y} | {x} * {y} | {x} + {y} | {x} < {y} | {x} >= {y} | {x} == {y}
{x} ** {y} | {y} - {x} | {y} / {x} | {y} * {x}"""
TWO = """torch.maximum({x}, {y}) | torch.where({x} > 0, {x}, {y}) | torch.atan2({x}, {y}) | {x}.lerp({y}, 0.3)
torch.hypot({x}, {y}) | torch.addcmul({x}, {y}, {y}, value=0.5) | torch.add({x}, {y}, alpha=2) | torch.minimum({x}, {y})
torch.logaddexp({x}, {y}) | F.mse_loss({x}, {y}) | F.smooth_l1_loss({x}, {y}) | torch.cdist({x}, {y})
torch.dist({x}, {y})
F.cosine_similarity({x}, {y}, 0) | torch.addcdiv({x}, {x}, {y}) | torch.xlogy({x}, {y}) | torch.fmax({x}, {y})"""
REDUCTIONS = """{x}.sum() | {x}.sum({a}) | {x}.mean({a}) | {x}.mean({a}, keepdim=True) | {x}.amax({a}) | {x}.max({a})[0]
{x}.min({a})[0] | {x}.std({a}) | {x}.var({a}, keepdim=True) | {x}.norm(dim={a}) | {x}.logsumexp({a}) | {x}.prod({a})
{x}.argmax({a}) | {x}.any({a}) | {x}.median({a})[0] | {x}.norm() | {x}.max() | {x}.mean() | {x}.nansum({a})
{x}.all({a})
{x}.amin({a}, keepdim=True) | {x}.var() | {x}.mode({a})[0] | {x}.min() | {x}.count_nonzero({a})
{x}.aminmax(dim={a})[1]
{x}.norm(1, {a}) | {x}.kthvalue(1, {a})[0] | {x}.quantile(0.5, {a}) | {x}.sum({a}, dtype=torch.float64)"""
WRITES = """{w}.mul_({y}) | {w}.add_({y}) | {w}.sub_({n}) | {w}.zero_() | {w}.fill_(0.5) | {w}.copy_({t}) | {w}.relu_()
{w}.sin_() | {w}.clamp_(-1, 1) | {w}.exp_() | {w}.div_(2) | {w}.masked_fill_({w} > 0, 0.5) | {w}.tanh_() | {w}.neg_()
F.relu({w}, inplace=True) | {w}.sigmoid_() | F.dropout({w}, 0.5, True, True) | {w}.index_fill_(0, torch.tensor([0]), 2)
{w}.unsqueeze_(0) | {w}.t_() | {w}.squeeze_() | {w}.pow_(2) | {w}.index_add_(0, torch.tensor([0]), {w}[:1].clone())
{w}.lerp_({x}, 0.5) | {w}.normal_() | {w}.uniform_() | {w}.sqrt_() | {w}.cumsum_(0) | {x}[{i}] = {y} | {x}[{i}] = {n}
{x}[{i}] += {n} | {x}[{i}] *= {y} | {x}[{i}] = {y} | {x}[{i}] = {n} | {x}.view(-1)[0] = {n} | {x}[{x} > 0] = {n}"""
PRODUCTS = """{x} @ {y} | torch.matmul({x}, {x}.mT) | F.linear({x}, {x}.detach())
torch.einsum('...i,...i->...', {x}, {x})
torch.outer({x}, {x}) | F.linear({x}, {y}.mT) | {x}.mv({x}[0]) | torch.tensordot({x}, {y}, 1)
torch.bmm({x}, {x}.mT)"""
JOINING = """torch.cat([{x}, {y}], {a}) | torch.stack([{x}, {y}], {a}) | torch.cat([{x}.mT, {x}.mT], {a}) | {x}.clone()
torch.gather({x}, 0, torch.zeros_like({x}).long()) | {x}.index_select({a}, torch.tensor([0, 0])) | torch.zeros_like({x})
F.one_hot({x}) | F.pad({x}, (1, 2)) | torch.where({x} > 0, {x}, 0.) | torch.full_like({x}, 2)
{x}.masked_select({x} > 0)
torch.hstack([{x}, {y}]) | torch.scatter({x}, 0, torch.zeros_like({x}).long(), {x}) | torch.empty_like({x}).copy_({x})
torch.broadcast_tensors({x}, {y})[0] | torch.meshgrid({x}, {x}, indexing='ij')[0] | torch.tensor({x}.tolist())
{x}.new_zeros(2) | {x}.to(torch.float64) | {x}.type_as({y}) | torch.bucketize({x}, torch.tensor([-1., 0., 1.]))
torch.rand_like({x}) | torch.randperm(3) | torch.scatter_add({x}, 0, torch.zeros_like({x}).long(), {x})"""
LAYERS = """F.layer_norm({x}, ({last},)) | F.gelu({x}) | F.softmax({x}, -1) | F.dropout({x}, 0.5) | F.silu({x})
F.elu({x})
nn.Linear({last}, 3)({x}) | nn.Linear({last}, 2).to({x}.dtype)({x}) | F.normalize({x}, dim=-1) | F.leaky_relu({x})
F.softplus({x}) | nn.BatchNorm1d({last}).to({x}.dtype)({x}) | F.cross_entropy({x}, {x}.argmax(-1).detach())
nn.Sequential(nn.Linear({last}, 2), nn.ReLU(inplace=True))({x}) | nn.GRU({last}, 2)({x})[0] | F.max_pool1d({x}, 2)
F.avg_pool1d({x}, 2) | F.conv1d({x}, {x}.detach()) | F.rms_norm({x}, ({last},)) | F.hardtanh({x}) | F.glu({x}, -1)
F.binary_cross_entropy_with_logits({x}, {x}.detach().sigmoid()) | F.scaled_dot_product_attention({x}, {x}, {x})
F.adaptive_avg_pool1d({x}, 2) | F.huber_loss({x}, {x} * 0.5) | F.interpolate({x}, scale_factor=2) | F.group_norm({x}, 1)
nn.MultiheadAttention({last}, 1).to({x}.dtype)({x}, {x}, {x})[0] | F.instance_norm({x})
F.kl_div({x}, {x}.detach().sigmoid())
F.nll_loss(F.log_softmax({x}, -1), torch.zeros({x}.shape[0]).long()) | nn.Embedding(3, 2)({x}.long().clamp(0, 2))
F.prelu({x}, {x}.detach().flatten()[:1]) | nn.LayerNorm({last}).to({x}.dtype)({x}) | nn.LSTM({last}, 2)({x})[0]"""
GRAPH = """{x}.retain_grad() | {x}.register_hook(lambda g: g * 2) | {x}.detach_()
{x}.sum().backward(retain_graph=True)
{l}.grad = None | {z} = torch.autograd.grad({x}.sum(), {l}, create_graph=True, retain_graph=True)[0]
{z} = torch.autograd.grad(({x} * {x}).sum(), {l}, retain_graph=True, allow_unused=True)[0] | {x}.requires_grad_(False)
{z} = {l}.grad | {l}.grad.zero_() | {l}.data.add_(1) | torch.optim.SGD([{l}], lr=0.1).step()
torch.optim.Adam([{l}]).step() | nn.utils.clip_grad_norm_([{l}], 0.1)"""


IMAGES = """F.conv2d({x}, {w}) | F.conv2d({x}, {w}, padding=1) | F.max_pool2d({x}, 2) | F.avg_pool2d({x}, 2, 1)
F.adaptive_avg_pool2d({x}, (2, 1)) | F.adaptive_max_pool2d({x}, 2) | nn.BatchNorm2d({c}).to({x}.dtype)({x})
F.interpolate({x}, scale_factor=2) | F.interpolate({x}, size=(3, 2), mode='bilinear') | F.group_norm({x}, 1)
F.relu({x})
{x}.contiguous() | {x}.to(memory_format=torch.channels_last) | {x}.clone() | torch.cat([{x}, {x}], 1) | {x}.flatten(1)
F.conv_transpose2d({x}, {w}.transpose(0, 1)) | F.instance_norm({x}) | F.unfold({x}, 2) | F.pad({x}, (1, 0, 1, 1))
F.pixel_unshuffle({x}, 2) | {x}.sum((2, 3)) | {x}.permute(0, 2, 3, 1) | F.dropout2d({x})
F.local_response_norm({x}, 2)"""
WRAPPED = """torch.add({x}, {y}, out=torch.empty(0, dtype=({x} + {y}).dtype)) | copy.deepcopy({l}) | {x}[:0]
{x}[:0].sum()
torch.mul({x}.detach(), 2, out={x}.detach().clone()) | checkpoint(lambda x: (x * x).sin(), {x}, use_reentrant=False)
checkpoint(lambda x: F.dropout(x.exp(), 0.5), {x}, use_reentrant=False) | torch.cat([{x}[:0], {x}]) | {x}[:0] + {x}[:0]
torch.func.functional_call(nn.Linear(2, 2), dict(weight={x}.flatten()[:4].view(2, 2).float()), torch.ones(2))
torch.func.grad(lambda x: (x * {y}).sum())({x}) | copy.copy({x}) | {x}[:0].mean() | {x}[..., None][:, :0].prod()
{x}[torch.zeros_like({x}).bool()] | {x}.index_put((torch.tensor([0, 0]),), {x}[:1].detach(), accumulate=True)
torch.cumsum({x}, 0, out=torch.empty(0, dtype={x}.dtype)) if not {x}.requires_grad else {x}
{x}.sum() * torch.ones(0)"""
OPTIMIZERS = """SGD({p}, 0.1, 0.9, nesterov=True) | Adam({p}) | AdamW({p}, 0.1, amsgrad=True)
SGD({p}, 0.1, maximize=True)
RMSprop({p}, momentum=0.5) | Adagrad({p}, 0.1) | Adadelta({p}) | NAdam({p}, 0.1) | RAdam({p}, 0.1) | Adamax({p})
Rprop({p})
ASGD({p}, 0.1) | SGD({p}, 0.1, weight_decay=0.1, dampening=0.2, momentum=0.3)"""
MODELS = """nn.Sequential(nn.Linear({n}, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2))
nn.Linear({n}, 2, bias=False)
nn.Sequential(nn.Linear({n}, 4), nn.LayerNorm(4), nn.GELU(), nn.Dropout(0.3))
nn.utils.parametrizations.weight_norm(nn.Linear({n}, 2))
nn.Sequential(nn.Linear({n}, 4), nn.ReLU(inplace=True), nn.BatchNorm1d(4, momentum=None), nn.Linear(4, 1), nn.Sigmoid())
nn.utils.parametrizations.spectral_norm(nn.Linear({n}, 3))
nn.Sequential(nn.Linear({n}, 2), nn.PReLU(), nn.Softmax(-1))"""

PIECES = """{x} += {y} | {x} -= {x}.detach().mean() | {x} *= {n} | {x} /= 2 | {x} **= 2 | {x} //= 2 | {x}[{i}] -= {n}
{x}[{i}] /= 2 | {x}[{x} < 0] *= 2 | {x}[[0, -1]] += 1 | {x}[[0, -1]] = {x}[[-1, 0]] | {x}[..., 0] = {x}[..., -1]
{x}[1:] = {x}[:-1].clone() | for p in {x}.unbind({a}): p.mul_(2) | {x}.chunk(2, {a})[-1].add_(1)
{x}.split(1, {a})[0].zero_() | {x}.hsplit(1)[0].exp_() | {z}, c = {x}.chunk(2, {a}); {z}.mul_(c)
{x}.split([1, {rest}], {a})[1].sub_({n}) | {x}[{i}][...] = {n} | torch.add({x}, {y}, out={x}.detach())
torch.sin({x}.detach(), out={x}.data) | torch.mul({x}.detach()[:1], 2, out={x}.data[-1:])
{x}.index_put_((torch.tensor([0, 0]),), {x}[:1].detach().clone(), accumulate=True) | {x}.fill_diagonal_({n})
{x}.masked_scatter_({x} > 0, torch.arange(300.).to({x}.dtype)) | {x}.diagonal().add_(1) | {x}.T[0] = {n}
{x}.scatter_(0, torch.zeros_like({x}).long(), {x}.detach().clone())
{x}.index_copy_({a}, torch.tensor([0]), {x}.narrow({a}, 0, 1) * 2)
{x}.scatter_add_({a}, torch.zeros_like({x}).long(), {x}.clone())
{x}.put_(torch.tensor([0, -1]), {x}.view(-1)[:2].clone())
{x}.scatter_reduce_({a}, torch.zeros_like({x}).long(), {x}.clone(), '{r}', include_self={truth}) | {x}.tril_()
{x}.addcmul_({x}, {y}) | {x}.index_reduce_({a}, torch.tensor([0]), {x}.narrow({a}, 0, 1).clone(), '{r}')
{x}.index_fill_({a}, torch.tensor([-1]), {n}) | {x}.view(-1)[::2] = {x}.reshape(-1)[::2].flip(0)
{x}.as_strided((1,), (1,), 1).fill_({n}) | {x}.masked_fill_({x} < 0, {n}) | {x}.unfold({a}, {two}, {two}).mul_(2)
{x}[torch.arange({x}.shape[0]) % 2 == 0] = {n} | {x}.squeeze().add_(1) | {x}.copy_({y})
{x}.expand(2, *{x}.shape)[1].add_(1) | {x}.view(-1, 1)[0] += {x}.sum() | {x}.movedim(0, -1)[..., 0].neg_()
{x}[0], {x}[-1] = 1, 2"""
TYPES = """{x} + 1 | {x} * 2.5 | {x} + torch.tensor(2) | {x} * torch.tensor(2.5)
{x} - torch.tensor(2.5, dtype=torch.float64) | {x} + torch.tensor([2]) | {x} * torch.tensor([0.5], dtype=torch.float64)
{x} // 2 | {x} % 3 | 7 % {x} | {x} ** 0.5 | {x} ** -1 | 2 ** {x} | 1 / {x} | torch.where({x} > 0, {x}, 0)
torch.where({x} > 0, 1., {x}) | torch.where({x} > 0, 1, 2) | {x}.long() | {x}.int() | {x}.bool() | {x}.bool().sum({a})
~({x} > 0) | ({x} > 0) & ({y} > 0) | ({x} > 0) * {x} | {x}.long() + {y} | {x}.int() / 2 | {x}.long() ** 2
{x}.bool() + 1 | {x}.long().sum({a}) | {x}.long().float().mean() | {x}.bfloat16() + {y} | {x}.half() * {y}
{x}.half() + {x}.bfloat16() | {x}.bfloat16() * 0.1 | {x}.long() * 0.5 | {x}.bfloat16() @ {x}.bfloat16().mT
{x}.clamp(min=torch.tensor(0.25)) | {x}.clamp({n}, {y}) | torch.tensor({n}) + {x} | {x}.long() << 1 | {x}.long() % -2
{x}.long() // -2 | {x}.fmod(2) | {x}.remainder({y}) | {x}.float_power(2) | {x}.true_divide({n})
torch.div({x}, {y}, rounding_mode='floor') | torch.div({x}, 2, rounding_mode='trunc') | {x}.sign() | {x}.round()
{x}.trunc() | {x}.frac() | {x}.floor() | {x}.isfinite() | {x}.eq({n}) | {x}.copysign(-1) | {x}.logical_and({y})
{x}.bool() | {x}.abs() ** {y} | torch.full(({two},), {n}) * {x} | torch.arange(3) + {x}.sum()
{x}.sum(dtype=torch.float64) | torch.promote_types({x}.dtype, torch.long) and {x}
torch.ones(2, 1, 1, dtype=torch.long) * {x} | {x}.new_tensor([{n}]) | {x}.new_full((2,), 3) | torch.as_tensor({x})
torch.rsub({x}, {n})"""
COMPLEX = """torch.complex({x}.float(), {x}.float()) | {x} * 1j | ({x} * 1j).real | ({x} + 2j).abs()
({x} * (1 + 2j)).imag | torch.fft.fft({x}) | torch.fft.rfft({x}).abs() | torch.fft.irfft({x}, 4)
torch.polar({x}.float().abs(), {x}.float()) | torch.view_as_real({x}.to(torch.complex64)) | ({x} + 1j).angle()
torch.fft.fft({x}).conj() * {y} | ({x} + 1j) @ ({x} - 1j).mT | ({x} * 1j).exp().imag | torch.fft.ifft({x} + 0j).real
torch.view_as_complex({x}.float()[..., :2].contiguous()) | ({x} * 1j).sum({a}) | ({x} + 1j).reciprocal().real
torch.fft.fft2({x}).abs() | ({x} - 1j).mul({y}).abs() | torch.fft.fftshift({x}, {a}) | ({x} + 1j).prod({a}).real
({x} + 1j).mH | ({x} + 1j).conj().imag | {x}.conj() | ({x} + 1j).mean() | ({x} + 1j).cumsum({a}).real
torch.fft.hfft({x} + 1j, 4) | ({x} + 1j).norm() | ({x} + 1j).sqrt() | ({x} + 2j).log().real"""
LINALG = """torch.linalg.norm({x}) | torch.linalg.vector_norm({x}, {ord}, {a}) | torch.linalg.matrix_norm({x})
torch.linalg.det({s}) | torch.linalg.inv({s}) | torch.linalg.solve({s}, {x}) | torch.linalg.solve({s}, {x}[..., :, :1])
torch.linalg.svdvals({x}) | torch.linalg.qr({s})[1].abs() | torch.linalg.eigvalsh({s}) | torch.linalg.eigh({s})[0]
torch.linalg.cholesky({s}) | torch.linalg.pinv({s}) | torch.linalg.matrix_power({s}, 2) | torch.linalg.slogdet({s})[1]
torch.linalg.multi_dot([{s}, {s}, {s}]) | torch.linalg.matrix_exp({s} / 9) | torch.linalg.vecdot({x}, {x})
torch.linalg.lstsq({s}, {x})[0] | torch.linalg.cond({s}) | torch.linalg.matrix_norm({x}, 1)
torch.linalg.cross({x}[..., :3], {x}[..., :3] + 1) | torch.linalg.solve_triangular({s}.tril(), {x}, upper=False)
torch.cholesky_solve({x}, torch.linalg.cholesky({s})) | torch.linalg.lu_factor({s})[0] | torch.trace({s})
torch.kron({x}, {x}) | torch.cov({x}) | torch.logdet({s}) | torch.einsum('ij,kj->ik', {x}, {x})
torch.einsum('ii', {s}) | torch.einsum('ij->j', {x}) | torch.einsum('ij,ij->', {x}, {x})
torch.einsum('i...,j...->ij...', {x}, {x}) | torch.einsum('...ij,...jk,...kl->...il', {s}, {s}, {x}) | {x}.norm(3, {a})
{x}.renorm(2, 0, 1.) | torch.linalg.vander({x}) | torch.addmm({s}, {x}, {x}.mT, beta=0.5)
torch.addmv({x}[:, 0], {x}, {x}[0]) | {x}.norm(float('inf'), {a}) | torch.chain_matmul({x}, {x}.mT, {x})
{x}.norm('fro', (0, 1)) | torch.trapezoid({x}, dim={a}) | torch.linalg.vector_norm({x}, {ord})
{x}.dist({x} * 2, {ord})"""
ORDERS = """{x}.cumsum({a}) | {x}.cumprod({a}) | {x}.cummax({a})[1] | {x}.cummin({a})[0] | {x}.diff(dim={a})
{x}.sort({a}, descending=True)[0] | {x}.argsort(dim={a}, stable=True) | {x}.logcumsumexp({a})
torch.cumulative_trapezoid({x}, dim={a}) | {x}.unique() | {x}.nonzero() | torch.argwhere({x} > 0)
{x}.topk(1, {a}, largest=False)[0] | torch.searchsorted(torch.tensor([-1., 0., 1.]), {x})
{x}.take_along_dim({x}.argsort(dim={a}, stable=True), {a}) | torch.histc({x}, 4, -2, 2) | {x}.msort() | {x}.tile(2)
{x}.rot90() | {x}.fliplr() | torch.block_diag({x}, {x}) | torch.cartesian_prod({x}.flatten()[:2], {x}.flatten()[:2])
torch.combinations({x}.flatten()[:3]) | {x}.flip({a}) | torch.std_mean({x}, {a})[1]
torch.var_mean({x}, {a}, correction=0)[0] | {x}.nanmean({a}) | {x}.nanmedian() | {x}.std({a}, unbiased=False)
{x}.var(correction=2) | {x}.cumsum({a})[-1] | {x}.sum(()) | {x}.sum((0, -1)) | {x}.amax((0,), keepdim=True)
{x}.mean(({a},), dtype=torch.float64) | {x}.logsumexp((0, -1)) | {x}.prod() | {x}.argmin() | {x}.max({a}, True)[1]
torch.isin({x}, torch.tensor([0., 1.]).to({x}.dtype)) | {x}.roll((1, 1), (0, -1)) | torch.vstack([{x}, {x}])
torch.column_stack([{x}, {x}]) | {x}.gather({a}, {x}.argsort(dim={a}, stable=True)) | {x}.take(torch.tensor([0, -1]))
{x}.put(torch.tensor([0]), {x}.flatten()[:1] * 2)
{x}.index_add({a}, torch.tensor([0, 0]), {x}.narrow({a}, 0, 1).repeat_interleave(2, {a}), alpha=0.5)
{x}.scatter_reduce({a}, torch.zeros_like({x}).long(), {x}, '{r}', include_self={truth})
{x}.index_reduce({a}, torch.tensor([0]), {x}.narrow({a}, 0, 1), '{r}') | torch.erfinv({x}.tanh())
{x}.masked_scatter({x} > 0, {x} * 2) | {x}.diagonal_scatter({x}.diagonal() * 2)
{x}.select_scatter({x}.select({a}, 0) * 2, {a}, -1) | {x}.slice_scatter({x}[:1] * 2, 0, 0, 1) | {x}.sinc()
{x}.lgamma() | {x}.abs().digamma() | {x}.sigmoid().logit() | torch.special.entr({x}.abs()) | torch.special.log_ndtr({x})
{x}.acosh() | {x}.atanh() | torch.special.i0e({x}) | {x}.tan() | {x}.asin() | {x}.log10() | {x}.log2() | {x}.ldexp({x})
{x}.sgn() | torch.special.expit({x}) | {x}.mvlgamma(1) | {x}.cosh() | torch.special.erfcx({x}) | {x}.nextafter({x})
{x}.positive()"""
LOSSES = """F.cross_entropy({x}, {c}, weight={u}, reduction='{red}', label_smoothing=0.1)
F.cross_entropy({x}, {c}, ignore_index=0, reduction='{red}') | F.cross_entropy({x}, {x}.detach().softmax(1), weight={u})
F.nll_loss({x}, {c}, {u}, reduction='{red}')
F.binary_cross_entropy_with_logits({x}, {x}.detach().sigmoid(), {u}, pos_weight={u}, reduction='{red}')
F.mse_loss({x}, {x} * 2, reduction='{red}')
F.binary_cross_entropy({x}.sigmoid(), {x}.detach().sigmoid(), {u}, reduction='{red}')
F.l1_loss({x}, {x}.detach() + 1, reduction='{red}')
F.kl_div({x}, {x}.detach(), log_target=True, reduction='batchmean')
F.smooth_l1_loss({x}, {x} * 0.5, reduction='{red}', beta=0.3)
F.huber_loss({x}, {x} * 0.5, reduction='{red}', delta=0.5)
F.poisson_nll_loss({x}, {x}.detach().abs(), full=True, reduction='{red}')
F.cosine_embedding_loss({x}, {x}.roll(1), torch.ones({x}.shape[0]), reduction='{red}')
F.margin_ranking_loss({x}, {x}.roll(1), {x}.detach().sign(), 0.1, reduction='{red}')
F.soft_margin_loss({x}, {x}.detach().sign(), reduction='{red}')
F.triplet_margin_loss({x}, {x}.roll(1), {x}.flip(0), reduction='{red}', swap={truth})
F.hinge_embedding_loss({x}, {x}.detach().sign(), reduction='{red}')
F.multi_margin_loss({x}, {c}, weight={u}, reduction='{red}')
F.multilabel_soft_margin_loss({x}, {x}.detach().sigmoid(), {u}, reduction='{red}')
F.gaussian_nll_loss({x}, {x}.detach() + 1, {x}.abs() + 0.1, full=True, reduction='{red}')
F.multilabel_margin_loss({x}, {x}.detach().argsort(dim=-1, stable=True) - 1, reduction='{red}')
F.batch_norm({x}, None, None, {u}, {u}, training=True) | F.batch_norm({x}, {u}, {u} + 1)
F.batch_norm({x}, {u}.clone(), {u}.clone(), training=True, momentum=0.3)
nn.BatchNorm1d({last}).to({x}.dtype).eval()({x})
nn.BatchNorm1d({last}, affine=False, track_running_stats=False).eval()({x}) | F.layer_norm({x}, ({last},), {u})
F.layer_norm({x}, ({last},), {u}, {u}, 1e-3) | F.rms_norm({x}, ({last},), {u}, 1e-3)
F.group_norm({x}, {last}, {u}, {u}) | F.instance_norm({x}[None], weight={x}.detach()[:, 0])
nn.InstanceNorm1d({last}, affine=True).to({x}.dtype)({x}[None].mT) | F.normalize({x}, 1, 0)
F.embedding({c}, {x}, padding_idx=0) | F.embedding_bag(({c})[None], {x}, mode='mean')
F.bilinear({x}, {x}, torch.ones(2, {last}, {last}).to({x}.dtype)) | F.one_hot({c}, 4)
F.gumbel_softmax({x}, hard={truth}) | F.pairwise_distance({x}, {x} + 1) | torch.pdist({x}) | F.softmin({x}, 0)
F.mish({x}) | F.celu({x}) | F.selu({x}) | F.logsigmoid({x}) | F.threshold({x}, 0.1, 0.5) | F.rrelu({x})
F.hardswish({x}) | F.hardsigmoid({x}) | F.tanhshrink({x}) | F.softsign({x}) | F.softshrink({x})
F.alpha_dropout({x}, 0.3, True) | F.relu6({x}) | F.hardshrink({x}) | F.softmax({x}, 0, dtype=torch.float64)"""
HOOKED = """{x}.register_hook(lambda g: None) | {x}.register_hook(lambda g: g.clamp(-1, 1))
{l}.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2)) | {x}.requires_grad_() | {x}.retain_grad()
{l}.grad = torch.ones_like({l}) | {l}.grad = {l}.grad.clone() | {l}.data = {l}.data * 2
{l}.detach().add_(1) | {l}.detach()[0] = 2 | with torch.no_grad(): {l}.sub_({l}.grad) | with torch.no_grad(): {l}[0] = 0
with torch.no_grad(): {x}.copy_({x} * 2) | {x}.backward(torch.ones_like({x}), retain_graph=True)
{x}.mean().backward(retain_graph=True, inputs=[{l}])
torch.autograd.backward([{x}.sum(), ({x} * 2).sum()], retain_graph=True)
{z} = torch.autograd.grad({x}, {l}, torch.ones_like({x}), retain_graph=True)[0] | {z} = {x}.detach().requires_grad_()
{z} = torch.autograd.grad({x}.sum(), [{l}], create_graph=True)[0].square().sum() | {z} = {l}.clone().requires_grad_()
{z} = {x}.clone().detach() | {z} = nn.Parameter({x}.detach())
{z} = {x}.new_empty({x}.shape).copy_({x}) | {z} = torch.zeros({x}.shape, dtype={x}.dtype); {z}[...] = {x}
{z} = torch.empty_like({x}); {z}[:1] = {x}[:1]; {z}[1:] = 2 | {z} = {x} if {x}.sum() > 0 else -{x}
nn.utils.clip_grad_value_([{l}], 0.1) | {z} = nn.utils.parameters_to_vector([{l}, {l}]) | nn.init.constant_({l}, 0.5)
nn.init.ones_({x}.data) | {z} = torch.autograd.functional.jvp(torch.sin, {x}, {x})[1] | {z} = {x}.grad
{z} = torch.func.vmap(lambda v: v * v.sum())({x}) | {z} = torch.func.jacrev(lambda v: v.sin())({x}.flatten()[:3])
{z} = torch.func.hessian(lambda v: v.pow(3).sum())({x}.flatten()[:3])
{z} = torch.func.jvp(torch.exp, ({x},), ({x},))[1]"""


def choose(rng, templates, **names):
    """One of the calls that a text lists, with its names filled in."""
    return rng.choice([line for part in templates.splitlines() for line in part.split(" | ")]).format(**names)


def view(d):
    x, rng = d.tensor(), d.rng
    t, a = d.scope[x], dim_of(d, x)
    size = t.shape[a] if t.dim() else 1
    text = choose(rng, VIEWS, x=x, a=a, b=dim_of(d, x), i=index(d, x), less=max(1, size - 1), two=min(2, size),
                  wide=", ".join(["2"] + ["-1"] * t.dim()), order=list(range(t.dim()))[::-1])
    # A view made in no_grad says in PyTorch that it requires gradients, although none reach it.
    d.add(f"{d.new()} = {text}", within=False)


def unary(d):
    d.add(f"{d.new()} = {choose(d.rng, UNARY, x=d.tensor(), n=scalar(d.rng))}")


def operand(d, name):
    """Another tensor, rather one that broadcasts, or a number."""
    if d.rng.random() < 0.3:
        return scalar(d.rng)

    def fits(t):
        try:
            torch.broadcast_shapes(t.shape, d.scope[name].shape)
            return True
        except RuntimeError:
            return d.rng.random() < 0.05
    return d.tensor(fits) or "2"


def binary(d):
    x = d.tensor()
    y = operand(d, x)
    d.add(f"{d.new()} = {choose(d.rng, TWO if y[0] == 't' and d.rng.random() < 0.3 else BINARY, x=x, y=y)}")


def reduction(d):
    x = d.tensor()
    d.add(f"{d.new()} = {choose(d.rng, REDUCTIONS, x=x, a=dim_of(d, x))}")


def write(d):
    """A write in place, into a tensor or through a view."""
    x, rng = d.tensor(), d.rng
    y = operand(d, x)
    target = rng.choice([x, x, x, f"{x}[{index(d, x)}]", f"{x}[{index(d, x)}]", f"{x}.view(-1)", f"{x}.mT",
                         f"{x}.detach()", f"{x}.data"])
    d.add(choose(rng, WRITES, x=x, y=y, w=target, t=y if y[0] == "t" else x, n=scalar(rng), i=index(d, x)))


def product(d):
    x = d.tensor(lambda t: t.dim() >= 1 and is_float(t))
    if x:
        t = d.scope[x]
        y = d.tensor(lambda u: u.dtype == t.dtype and u.dim() >= 1 and u.shape[-min(2, u.dim())] == t.shape[-1]) or x
        d.add(f"{d.new()} = {choose(d.rng, PRODUCTS, x=x, y=y)}")


def joining(d):
    x = d.tensor()
    y = d.tensor(lambda u: u.dim() == d.scope[x].dim()) or x
    d.add(f"{d.new()} = {choose(d.rng, JOINING, x=x, y=y, a=dim_of(d, x))}")


def layer(d):
    x = d.tensor(lambda t: t.dim() >= 1 and is_float(t))
    if x:
        d.add(f"{d.new()} = {choose(d.rng, LAYERS, x=x, last=d.scope[x].shape[-1])}")


def graph(d):
    """Statements about the graph itself."""
    x = d.tensor(is_float)
    if x:
        leaf_name = d.tensor(lambda t: t.requires_grad and t.is_leaf) or x
        d.add(choose(d.rng, GRAPH, x=x, l=leaf_name, z=d.new()))


def image(d):
    """Layers on images, half of them with the channels last."""
    x = d.tensor(lambda t: t.dim() == 4 and is_float(t))
    if x is None or d.rng.random() < 0.2:
        x, (n, c, h, w) = d.new(), (d.rng.choice([1, 2, 3]) for _ in range(4))
        last = d.rng.choice(["", ".to(memory_format=torch.channels_last)", ".permute(0, 3, 1, 2)"])
        if not d.add(f"{x} = torch.randn({(n, c, h + 2, w + 2)}){last}.requires_grad_()"):
            return
    c = d.scope[x].shape[1]
    weight = f"torch.randn(2, {c}, 2, 2).to({x}.dtype)" + d.rng.choice(["", ".to(memory_format=torch.channels_last)"])
    d.add(f"{d.new()} = {choose(d.rng, IMAGES, x=x, w=weight, c=c)}")


def wrapped(d):
    """Calls around calls: ``out=``, copies, checkpoints, transforms; and tensors without elements."""
    x = d.tensor()
    leaf_name = d.tensor(lambda t: t.is_leaf) or x
    text = f"{d.new()} = {choose(d.rng, WRAPPED, x=x, y=operand(d, x), l=leaf_name)}"
    if d.rng.random() < 0.2:
        text = f"with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x): {text}"
    d.add(text, within=False)


def training(d):
    """Some steps of training a module; then its parameters and buffers, and a call of it."""
    x = d.tensor(lambda t: t.dim() == 2 and is_float(t))
    if x is None:
        return
    m, rng = f"m{d.n}", d.rng
    optimizer = choose(rng, OPTIMIZERS, p=f"{m}.parameters()")
    if not d.add(f"{m} = {choose(rng, MODELS, n=d.scope[x].shape[-1])}", within=False):
        return
    if rng.random() < 0.3:
        d.add(f"{m}.to(torch.{rng.choice(FLOATS)})", within=False)
    d.add(f"o = torch.optim.{optimizer}", within=False)
    cast = rng.choice(["", "", "with torch.autocast('cpu', torch.bfloat16): "])
    loss = f"{m}({x}.detach()).square().sum().backward()"
    d.add(f"for _ in range({rng.randint(1, 3)}):\n  o.zero_grad()\n  {cast}{loss}\n  o.step()", within=False)
    if rng.random() < 0.3:
        d.add(f"{m}.eval()", within=False)
    d.add(f"{d.new()} = {m}({x})", within=False)
    d.add(f"{d.new()} = torch.cat([p.detach().double().flatten() for p in {m}.state_dict().values()])", within=False)
    if rng.random() < 0.3:
        d.add(f"{d.new()} = copy.deepcopy({m})({x})", within=False)


def piece(d):
    """Augmented assignments and writes into parts: by masks, lists, chunks, diagonals, indices that add up."""
    x, rng = d.tensor(), d.rng
    t, a = d.scope[x], dim_of(d, x)
    size = t.shape[a] if t.dim() else 1
    d.add(choose(rng, PIECES, x=x, y=operand(d, x), n=scalar(rng), i=index(d, x), a=a, z=d.new(), two=min(2, size),
                 rest=max(0, size - 1), r=rng.choice(["sum", "prod", "mean", "amax", "amin"]),
                 truth=rng.choice([True, False])))


def typed(d):
    """Types that meet: numbers, tensors without dimensions, integers, bools, floats of 16 bits; complex numbers."""
    x = d.tensor()
    lines = TYPES if d.rng.random() < 0.7 or not is_float(d.scope[x]) else COMPLEX
    d.add(f"{d.new()} = {choose(d.rng, lines, x=x, y=operand(d, x), n=scalar(d.rng), a=dim_of(d, x), two=2)}")


def algebra(d):
    """Linear algebra, of matrices that are well-conditioned where they must be."""
    x = d.tensor(lambda t: t.dim() >= 2 and is_float(t))
    if x:
        square = f"({x} @ {x}.mT + {d.scope[x].shape[-2]} * torch.eye({d.scope[x].shape[-2]}).to({x}.dtype))"
        d.add(f"{d.new()} = " + choose(d.rng, LINALG, x=x, s=square, a=dim_of(d, x), ord=d.rng.choice(
            ["0", "1", "2", "3", "-1", "float('inf')", "0.5"])))


def ordered(d):
    x = d.tensor()
    d.add(f"{d.new()} = " + choose(d.rng, ORDERS, x=x, a=dim_of(d, x), truth=d.rng.choice([True, False]),
                                   r=d.rng.choice(["sum", "prod", "mean", "amax", "amin"])))


def loss(d):
    """Losses with weights and reductions, norms in training and evaluation."""
    x = d.tensor(lambda t: t.dim() == 2 and is_float(t))
    if x:
        n, last = d.scope[x].shape
        d.add(f"{d.new()} = " + choose(
            d.rng, LOSSES, x=x, last=last, c=f"torch.arange({n}) % {max(1, min(n, last))}",
            u=f"torch.linspace(0.5, 1.5, {last}).to({x}.dtype)", red=d.rng.choice(["mean", "sum", "none"]),
            truth=d.rng.choice([True, False])))


def hooked(d):
    """Hooks, gradients that are set, leaves that are written to, transforms."""
    x = d.tensor(is_float)
    if x:
        leaf_name = d.tensor(lambda t: t.requires_grad and t.is_leaf) or x
        d.add(choose(d.rng, HOOKED, x=x, l=leaf_name, z=d.new()))


STEPS = (piece, typed, algebra, ordered, loss, hooked, image, wrapped, training, view, unary, binary, reduction, write,
         product, joining, layer, graph, leaf)
WEIGHTS = (4, 3, 1, 2, 1, 2, 2, 2, 1, 5, 3, 5, 2, 6, 1, 2, 2, 2, 1)


def ending(d):
    """A backward pass from everything that has a graph."""
    roots = d.names(lambda t: t.requires_grad and is_float(t) and not t.is_leaf)
    for name in roots[-3:]:
        weights = f"torch.arange(1., 1. + {name}.numel()).view({name}.shape)"
        d.add(f"({name}.double() * {weights}).sum().backward(retain_graph=True)")
