"""Rows that the GPU programme measures: each is written once, in names that PyTorch has too.

``make(torch, device, quick)`` prepares tensors and returns (a function that does the work once and returns its result,
the amount of work): bytes that must at least be moved where the ceiling is the device's copy, floating-point operations
where it is the library's product. All inputs are drawn by ``torch.rand``, so that another library can be given the
same ones. Gates and targets are the shares of the ceiling that the design asks for on an H200.
"""

import math
from contextlib import contextmanager
from typing import Any, NamedTuple

from .models import training_step

ROWS: list = []
STEPS: dict = {}


class Row(NamedTuple):
    name: str
    ceiling: str
    gate: float
    target: float
    make: Any
    is_random: bool = False    # no two libraries compute the same


def row(name, ceiling, gate, target, is_random=False):
    def add(make):
        ROWS.append(Row(name, ceiling, gate, target, make, is_random))
        return make
    return add


@contextmanager
def tf32(torch, allowed):
    """TF32 in products and convolutions: both settings of PyTorch, whose defaults differ, are named each time."""
    products, convolutions = torch.backends.cuda.matmul, torch.backends.cudnn
    before = products.allow_tf32, convolutions.allow_tf32
    products.allow_tf32 = convolutions.allow_tf32 = allowed
    try:
        yield
    finally:
        products.allow_tf32, convolutions.allow_tf32 = before


def under_tf32(torch, allowed, work):
    """`work` with TF32 allowed or not."""
    def run():
        with tf32(torch, allowed):
            return work()
    return run


def size(quick, n=1 << 26):
    return 1 << 12 if quick else n


# ---- elementwise -------------------------------------------------------------------------------------------
def elementwise(name, reads, function, gate=0.85, target=0.93, writes=1, dtypes=("float32",)):
    for dtype in dtypes:
        def make(torch, device, quick, dtype=dtype):
            n, kind = size(quick), getattr(torch, dtype)
            xs = [torch.rand(n, device=device).to(kind) for _ in range(reads)]
            return lambda: function(torch, *xs), (reads + writes) * n * xs[0].element_size()
        row(f"{name}, {dtype}, 64M", "copy", gate, target)(make)


elementwise("x + y", 2, lambda t, x, y: x + y, dtypes=("float32", "bfloat16"))
elementwise("x * 2", 1, lambda t, x: x * 2.0)
elementwise("exp", 1, lambda t, x: x.exp())
elementwise("gelu", 1, lambda t, x: t.nn.functional.gelu(x), dtypes=("float32", "bfloat16"))
elementwise("where", 2, lambda t, x, y: t.where(x > y, x, y), gate=0.5, target=0.75)


@row("bias + gelu, 8192 x 8192", "copy", 0.5, 0.75)
def bias_gelu(torch, device, quick):
    n = 64 if quick else 8192
    x, b = torch.rand(n, n, device=device), torch.rand(n, device=device)
    return lambda: torch.nn.functional.gelu(x + b), 4 * n * n * 4


@row("x + row, 8192 x 8192", "copy", 0.5, 0.75)
def broadcast(torch, device, quick):
    n = 64 if quick else 8192
    x, b = torch.rand(n, n, device=device), torch.rand(n, device=device)
    return lambda: x + b, 2 * n * n * 4


@row("transposed copy, 8192 x 8192", "copy", 0.6, 0.8)
def transposed(torch, device, quick):
    n = 64 if quick else 8192
    x = torch.rand(n, n, device=device)
    return lambda: x.T.contiguous(), 2 * n * n * 4


@row("cast float32 to bfloat16, 64M", "copy", 0.85, 0.93)
def cast(torch, device, quick):
    x = torch.rand(size(quick), device=device)
    return lambda: x.to(torch.bfloat16), 6 * x.numel()


@row("dropout, 64M", "copy", 0.85, 0.93, is_random=True)
def dropout(torch, device, quick):
    x = torch.rand(size(quick), device=device)
    return lambda: torch.nn.functional.dropout(x, 0.1), 8 * x.numel()


@row("dropout, bfloat16, 64M", "copy", 0.85, 0.93)
def dropout_of_halves(torch, device, quick):
    x = torch.rand(size(quick), device=device).to(torch.bfloat16)
    return lambda: torch.nn.functional.dropout(x, 0.1), 4 * x.numel()


# ---- reductions and rows -----------------------------------------------------------------------------------
@row("sum of 64M", "copy", 0.8, 0.9)
def full_sum(torch, device, quick):
    x = torch.rand(size(quick), device=device)
    return lambda: x.sum(), 4 * x.numel()


def rows(name, function, passes, gate, target, shapes=((65536, 1024), (4096, 16384)), dtype="float32"):
    for shape in shapes:
        def make(torch, device, quick, shape=shape):
            m, n = (8, 64) if quick else shape
            x = torch.rand(m, n, device=device).to(getattr(torch, dtype))
            work = function(torch, x)
            return work, passes * x.numel() * x.element_size()
        row(f"{name}, {shape[0]} x {shape[1]}", "copy", gate, target)(make)


def backward_of(forward):
    def prepare(torch, x):
        x = x.requires_grad_()
        y = forward(torch, x)
        g = torch.rand(*y.shape, device=x.device)          # with ones the gradients would be rounding errors
        return lambda: torch.autograd.grad(y, x, g, retain_graph=True)
    return prepare


def layer_norm(torch, x):
    n = x.shape[-1]
    return torch.nn.functional.layer_norm(x, (n,))


rows("row sums", lambda t, x: lambda: x.sum(1), 1, 0.8, 0.9)
rows("column sums", lambda t, x: lambda: x.sum(0), 1, 0.6, 0.8)
rows("row maxima", lambda t, x: lambda: x.amax(1), 1, 0.8, 0.9)
rows("softmax", lambda t, x: lambda: x.softmax(1), 2, 0.7, 0.85)
rows("log_softmax", lambda t, x: lambda: x.log_softmax(1), 2, 0.7, 0.85)
rows("softmax backward", backward_of(lambda t, x: x.softmax(1)), 3, 0.65, 0.8)
rows("layer_norm", lambda t, x: lambda: layer_norm(t, x), 2, 0.7, 0.85)
rows("layer_norm backward", backward_of(layer_norm), 3, 0.4, 0.5)
rows("rms_norm", lambda t, x: lambda: t.nn.functional.rms_norm(x, (x.shape[-1],)), 2, 0.7, 0.85)


@row("cross_entropy forward and backward, 8192 x 32768", "copy", 0.65, 0.8)
def cross_entropy(torch, device, quick):
    m, n = (8, 64) if quick else (8192, 32768)
    x = torch.rand(m, n, device=device, requires_grad=True)
    y = torch.zeros(m, dtype=torch.int64, device=device)

    def work():
        return torch.autograd.grad(torch.nn.functional.cross_entropy(x, y), x)
    return work, 3 * m * n * 4


@row("embedding 50k x 1024, 65,536 ids", "copy", 0.7, 0.85)
def embedding(torch, device, quick):
    n, d, ids = (64, 16, 32) if quick else (50000, 1024, 65536)
    table = torch.rand(n, d, device=device)
    index = (torch.rand(ids, device=device) * n).to(torch.int64).clamp(0, n - 1)
    return lambda: torch.nn.functional.embedding(index, table), 2 * ids * d * 4


@row("embedding backward, 65,536 ids", "copy", 0.3, 0.5)
def embedding_backward(torch, device, quick):
    n, d, ids = (64, 16, 32) if quick else (50000, 1024, 65536)
    table = torch.rand(n, d, device=device, requires_grad=True)
    index = (torch.rand(ids, device=device) * n).to(torch.int64).clamp(0, n - 1)
    y = torch.nn.functional.embedding(index, table)
    g = torch.ones_like(y)
    return lambda: torch.autograd.grad(y, table, g, retain_graph=True), (ids + n) * d * 4


@row("AdamW, 64M parameters", "copy", 0.85, 0.93)
def adamw(torch, device, quick):
    p = torch.nn.Parameter(torch.rand(size(quick), device=device))
    p.grad = torch.rand(p.shape, device=device)
    optimizer = torch.optim.AdamW([p])

    def work():
        optimizer.step()
        return p
    return work, 28 * p.numel()


@row("running sums along rows, 4096 x 16384", "copy", 0.5, 0.7)
def cumsum(torch, device, quick):
    x = torch.rand(*((8, 64) if quick else (4096, 16384)), device=device)
    return lambda: x.cumsum(1), 8 * x.numel()


@row("running sum of 64M", "copy", 0.6, 0.8)
def cumsum_of_all(torch, device, quick):
    x = torch.rand(size(quick), device=device)
    return lambda: x.cumsum(0), 8 * x.numel()


for shape, goals in ((2048, 32768), (0.7, 0.85)), ((1024, 65536), (0.6, 0.8)):     # the longer ones in clusters
    rows("softmax", lambda t, x: lambda: x.softmax(1), 2, *goals, shapes=[shape])
    rows("layer_norm", lambda t, x: lambda: layer_norm(t, x), 2, *goals, shapes=[shape])


# ---- products ----------------------------------------------------------------------------------------------
def product(n, dtype, gate, target, left="N", right="N", batch=None, rounded=False):
    name = f"matmul {n}, {'tf32' if rounded else dtype}, {left}{right}" + (f", batch {batch}" if batch else "")

    def make(torch, device, quick):
        m = 48 if quick else n
        shape = (m, m) if batch is None else (2 if quick else batch, m, m)
        a, b = [torch.rand(shape, device=device).to(getattr(torch, dtype)) for _ in range(2)]
        a, b = a.mT if left == "T" else a, b.mT if right == "T" else b
        return under_tf32(torch, rounded, lambda: a @ b), 2 * math.prod(shape) * m
    row(name, "product", gate, target)(make)


product(4096, "float32", 0.7, 0.85)
product(4096, "float32", 0.5, 0.7, "T", "N")
product(4096, "float32", 0.5, 0.7, "N", "T")
product(4000, "float32", 0.5, 0.7)
product(512, "float32", 0.5, 0.7, batch=64)
product(4096, "float32", 0.35, 0.55, rounded=True)
product(4096, "float32", 0.5, 0.7, "N", "T", rounded=True)
product(4096, "float16", 0.4, 0.6)
product(4096, "bfloat16", 0.65, 0.85)
product(8192, "bfloat16", 0.65, 0.85)
product(4096, "bfloat16", 0.5, 0.7, "N", "T")


def attention(dtype, d, causal):
    def make(torch, device, quick):
        b, h, t = (1, 2, 64) if quick else (4, 16, 4096)
        q, k, v = [torch.rand(b, h, t, d, device=device).to(getattr(torch, dtype)) for _ in range(3)]
        work = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return work, 4 * b * h * t * t * d / (2 if causal else 1)
    row(f"attention, {dtype}, d={d}{', causal' if causal else ''}", "180 Tflop/s", 1.0, 1.6)(make)


def attention_backward(d, causal):
    def make(torch, device, quick):
        b, h, t = (1, 2, 64) if quick else (4, 16, 4096)
        draw = lambda: torch.rand(b, h, t, d, device=device) * 2 - 1       # else gradients would be rounding errors
        q, k, v, g = [draw().to(torch.bfloat16).requires_grad_(i < 3) for i in range(4)]
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        work = lambda: torch.autograd.grad(out, (q, k, v), g, retain_graph=True)
        return work, 10 * b * h * t * t * d / (2 if causal else 1)
    row(f"attention backward, bfloat16, d={d}{', causal' if causal else ''}", "180 Tflop/s", 1.0, 1.6)(make)


for causal in (False, True):
    attention_backward(64, causal)
    attention_backward(128, causal)
    attention("bfloat16", 64, causal)
    attention("bfloat16", 128, causal)
    attention("float32", 64, causal)


def convolution(name, dtype, rounded, dims=2):
    def make(torch, device, quick):
        n, c, s = (2, 8, 4) if quick else (64, 128, 56) if dims == 2 else (8, 64, 28)
        x = torch.rand(n, c, *[s] * dims, device=device).to(getattr(torch, dtype))
        w = torch.rand(c, c, *[3] * dims, device=device).to(getattr(torch, dtype))
        convolve = getattr(torch.nn.functional, f"conv{dims}d")
        return under_tf32(torch, rounded, lambda: convolve(x, w, padding=1)), 2 * n * s**dims * c * c * 3**dims
    row(name, "PyTorch's time", 0.5, 0.7)(make)


convolution("conv2d 3x3, 64 x 128 x 56 x 56, float32", "float32", False)
convolution("conv2d 3x3, 64 x 128 x 56 x 56, tf32", "float32", True)
convolution("conv2d 3x3, 64 x 128 x 56 x 56, bfloat16", "bfloat16", True)
convolution("conv3d 3x3x3, 8 x 64 x 28 x 28 x 28, float32", "float32", False, dims=3)


@row("sort of 16M", "PyTorch's time", 0.5, 0.7)
def sorting(torch, device, quick):
    x = torch.rand(size(quick, 1 << 24), device=device)
    return lambda: x.sort()[0], 8 * x.numel()


@row("x + x, bfloat16, more than 2**31 elements", "copy", 0.85, 0.93)
def beyond_32_bits(torch, device, quick):
    n = (1 << 13) + 5 if quick else (1 << 31) + 4101
    x = torch.rand(n, device=device).to(torch.bfloat16)
    return lambda: x + x, 4 * n


# ---- training steps ----------------------------------------------------------------------------------------
def step_of(name):
    def add(make):
        STEPS[name] = make
        return make
    return add


def adamw_step(torch, model, x, y):
    return training_step(model, torch.optim.AdamW(model.parameters(), lr=1e-3), torch.nn.CrossEntropyLoss(), x, y)


@step_of("MLP 784-128-10, batch 64")
def mlp(torch, device, quick):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    return adamw_step(torch, model, torch.rand(64, 784, device=device),
                         torch.zeros(64, dtype=torch.int64, device=device))


@step_of("CNN on 28x28, batch 64")
def cnn(torch, device, quick):
    nn, n = torch.nn, 4 if quick else 64
    model = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10)).to(device)
    return adamw_step(torch, model, torch.rand(n, 1, 28, 28, device=device),
                         torch.zeros(n, dtype=torch.int64, device=device))


@step_of("GPT, 4 layers, d=256, context 256, batch 16")
def gpt(torch, device, quick):
    nn = torch.nn
    layers, d, t, b = (1, 16, 8, 2) if quick else (4, 256, 256, 16)

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(65, d), nn.Embedding(t, d)
            self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(d, 4, 4 * d, 0.0, "gelu", batch_first=True,
                                                                    norm_first=True) for _ in range(layers)])
            self.head = nn.Linear(d, 65)

        def forward(self, x):
            h = self.tokens(x) + self.places(places)
            for block in self.blocks:
                h = block(h, src_mask=mask, is_causal=True)
            return self.head(h).view(-1, 65)
    places = torch.arange(t, device=device)
    mask = torch.triu(torch.full((t, t), float("-inf"), device=device), 1)
    x = (torch.rand(b, t, device=device) * 65).to(torch.int64).clamp(0, 64)
    return adamw_step(torch, GPT().to(device), x, x.view(-1))
