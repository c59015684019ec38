"""The metadata that `fx` writes into nodes, and split modules, beside PyTorch's."""

import random

import pytest

import minitorch
from minitorch.fx.passes.split_module import split_module

torch = pytest.importorskip("torch")
from torch.fx.operator_schemas import normalize_function as normalized_there  # noqa: E402
from torch.fx.passes.split_module import split_module as split_there  # noqa: E402

from minitorch.fx.operator_schemas import normalize_function  # noqa: E402

CALLS = """
relu(x) | relu6(x) | gelu(x) | dropout(x, 0.3) | alpha_dropout(x) | dropout2d(x) | softmax(x, -1)
log_softmax(x, dim=1)
softmin(x, 1) | layer_norm(x, (4,)) | group_norm(x, 2) | batch_norm(x, m, v) | instance_norm(x) | rms_norm(x, (3,))
linear(x, w) | conv2d(x, w, padding=1) | max_pool2d(x, 2) | max_pool1d(x, 2) | avg_pool2d(x, 2)
adaptive_avg_pool2d(x, 1)
adaptive_max_pool2d(x, 1) | interpolate(x, scale_factor=2) | pad(x, (1, 1)) | cross_entropy(x, y) | nll_loss(x, y)
mse_loss(x, y) | smooth_l1_loss(x, y) | huber_loss(x, y) | binary_cross_entropy(x, y) | kl_div(x, y) | embedding(x, w)
leaky_relu(x, 0.1) | elu(x) | celu(x) | selu(x) | hardtanh(x) | hardswish(x) | hardsigmoid(x) | silu(x) | mish(x)
softsign(x) | tanhshrink(x) | glu(x) | rrelu(x) | gumbel_softmax(x) | normalize(x) | one_hot(x) | unfold(x, 2)
fold(x, (4, 4), 2) | grid_sample(x, y) | scaled_dot_product_attention(x, y, y) | ctc_loss(x, y, m, v)
pixel_shuffle(x, 2)
triplet_margin_loss(x, y, w) | cosine_similarity(x, y) | local_response_norm(x, 2) | max_unpool2d(x, y, 2)
lp_pool2d(x, 2., 2)
"""


@pytest.mark.parametrize("call", [c.strip() for line in CALLS.strip().splitlines() for c in line.split("|")])
def test_arguments_in_nodes(call):
    found = []
    for lib in (torch, minitorch):
        names = {}
        exec(f"def f(x, y, w, m, v):\n    return F.{call}", {"F": lib.nn.functional}, names)
        node, = [n for n in lib.fx.symbolic_trace(names["f"]).graph.nodes if n.op == "call_function"]
        found.append((node.name, str(node.args), dict(node.kwargs)))
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(6))
def test_split_modules(seed):
    def build(lib):
        nn = lib.nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(lib.ones(3))
                self.first, self.rest = nn.Linear(3, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 3))

            def forward(self, x, y, scale=2):
                a = self.first(x + self.w)
                b = lib.sin(y) * scale
                return self.rest(a * b) + self.w, (a.sum(1), {"b": b})
        return lib.fx.symbolic_trace(Net())
    texts = []
    for lib, split in ((torch, split_there), (minitorch, split_module)):
        traced, choice = build(lib), random.Random(seed)
        parts = sorted(choice.randrange(3) for n in traced.graph.nodes if n.op.startswith("call"))
        turn = iter(parts)
        options = {"keep_original_order": bool(seed % 2), "partition_affix": "p" if seed > 3 else None}
        made = split(traced, traced, lambda n, turn=turn: next(turn), **options)
        texts.append([str(made.graph), *[str(m.graph) for n, m in made.named_children() if n.startswith("submod")]])
    assert texts[1] == [t.replace("torch._C._nn.", "torch.nn.functional.") for t in texts[0]]


def test_normalized_functions():
    calls = ("dropout", ("x", 0.2), {}), ("cross_entropy", ("x", "y"), {"reduction": "sum"}), ("relu", ("x",), {})
    for call in calls:
        for by_name in (False, True):
            ours, theirs = [f(getattr(lib.nn.functional, call[0]), *call[1:], normalize_to_only_use_kwargs=by_name)
                            for f, lib in ((normalize_function, minitorch), (normalized_there, torch))]
            assert tuple(ours) == tuple(theirs)
