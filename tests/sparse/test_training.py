"""Sparse gradients in training: embeddings, optimisers, clipping, and graph networks."""

import copy

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F
from tests.testing.doctor_cases import examine, loop

INDICES = [torch.tensor([1, 2, 2, 5]), torch.tensor([0, 1]), torch.tensor([5, 5, 5]), torch.tensor([1, 2])]


def tables(**options):
    """An embedding with sparse gradients and one with dense ones, of the same numbers."""
    torch.manual_seed(0)
    one = nn.Embedding(6, 3, sparse=True, **options)
    two = nn.Embedding(6, 3, **options)
    two.load_state_dict(one.state_dict())
    return one, two


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}, {"scale_grad_by_freq": True}, {"max_norm": 1.0}])
def test_gradients_of_embeddings(options):
    one, two = tables(**options)
    for index in INDICES:
        for table in (one, two):
            (table(index) ** 2).sum().backward()
    assert one.weight.grad.is_sparse and (one.weight.grad.sparse_dim(), one.weight.grad.dense_dim()) == (1, 1)
    assert torch.allclose(one.weight.grad.to_dense(), two.weight.grad)
    two.weight.grad.add_(one.weight.grad)
    two(INDICES[0]).sum().backward()
    before = two.weight.grad.clone()
    assert torch.allclose((one.weight.grad + two.weight.grad), one.weight.grad.to_dense() + before)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags(mode):
    torch.manual_seed(0)
    one = nn.EmbeddingBag(6, 3, mode=mode, sparse=True, padding_idx=0)
    two = nn.EmbeddingBag(6, 3, mode=mode, padding_idx=0)
    two.load_state_dict(one.state_dict())
    for bag in (one, two):
        (bag(torch.tensor([1, 2, 0, 5, 5]), torch.tensor([0, 3])) ** 2).sum().backward()
    assert one.weight.grad.is_sparse and torch.allclose(one.weight.grad.to_dense(), two.weight.grad)


def test_sum_of_a_sparse_and_a_dense_gradient():
    one, two = tables()
    for table in (one, two):
        (table(INDICES[0]).sum() + (table.weight**2).sum()).backward()
    assert torch.allclose(one.weight.grad, two.weight.grad)
    w = torch.rand(6, 3, requires_grad=True)               # the table is computed
    F.embedding(INDICES[0], 2 * w, sparse=True).sum().backward()
    assert w.grad.sum().item() == 24


def train_alike(one, two, optimizers):
    """Steps of two tables on the same rows, after which they must be equal."""
    for index in INDICES:
        for table, optimizer in zip((one, two), optimizers):
            optimizer.zero_grad()
            (table(index) ** 2).sum().backward()
            optimizer.step()
    assert torch.allclose(one.weight, two.weight)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"maximize": True},
                                     {"momentum": 0.5, "dampening": 0.3}])
def test_sgd_steps_as_with_dense_gradients(options):
    one, two = tables()
    both = [torch.optim.SGD(table.parameters(), 0.1, **options) for table in (one, two)]
    train_alike(one, two, both)
    state = copy.deepcopy(both[0].state_dict())
    both[0].load_state_dict(state)
    both[0].step()


def test_adagrad_steps_as_with_dense_gradients():
    one, two = tables()
    both = [torch.optim.Adagrad(table.parameters(), 0.1, lr_decay=0.1) for table in (one, two)]
    train_alike(one, two, both)


def test_sparse_adam_moves_the_rows_that_were_looked_up():
    table, _ = tables()
    start = table.weight.detach().clone()
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    m = v = np.zeros((6, 3))
    expected = start.double().numpy().copy()
    for t, index in enumerate(INDICES, 1):
        optimizer.zero_grad()
        (table(index) ** 2).sum().backward()
        g = table.weight.grad.to_dense().double().numpy()
        rows = np.unique(index.numpy())
        m, v = m.copy(), v.copy()
        m[rows] += 0.1 * (g[rows] - m[rows])
        v[rows] += 0.001 * (g[rows] ** 2 - v[rows])
        size = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        expected[rows] -= size * m[rows] / (np.sqrt(v[rows]) + 1e-8)
        optimizer.step()
    assert np.allclose(table.weight.detach().numpy(), expected, atol=1e-5)
    assert torch.equal(table.weight[3:5], start[3:5]) and optimizer.state[table.weight]["step"] == 4
    twin = copy.deepcopy(table)
    other = torch.optim.SparseAdam(twin.parameters(), lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    for table_, optimizer_ in ((table, optimizer), (twin, other)):
        optimizer_.zero_grad()
        table_(INDICES[0]).sum().backward()
        optimizer_.step()
    assert torch.equal(table.weight, twin.weight)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
                                  "Adafactor"])
def test_other_optimisers_refuse(name):
    table, _ = tables()
    optimizer = getattr(torch.optim, name)(table.parameters())
    table(INDICES[0]).sum().backward()
    before = table.weight.detach().clone()
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        optimizer.step()
    assert torch.equal(before, table.weight)


def test_a_rule_of_its_own_is_not_taken_for_that_of_its_base():
    def halved(xp, p, g, states, scratch, c):
        p -= g / 2

    table, _ = tables()
    kind = type("Halved", (torch.optim.SGD,), {"rule": staticmethod(halved)})
    optimizer = kind(table.parameters())
    table(INDICES[0]).sum().backward()
    with pytest.raises(RuntimeError, match="Halved does not support sparse gradients"):
        optimizer.step()


def test_refusals_of_optimisers_that_take_sparse_gradients():
    table, _ = tables()
    table(INDICES[0]).sum().backward()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible"):
        torch.optim.Adagrad(table.parameters(), weight_decay=0.1).step()
    with pytest.raises(ValueError, match="dense parameter"):
        torch.optim.SparseAdam([torch.zeros(2, 2, layout=torch.sparse_coo).requires_grad_()])
    table.weight.grad = table.weight.grad.to_dense()
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        torch.optim.SparseAdam(table.parameters()).step()


def test_zero_grad_clipping_hooks_and_scaling():
    table, other = tables()
    linear = nn.Linear(3, 1)
    seen = []
    table.weight.register_hook(lambda g: g * 2)
    table.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.is_sparse))
    linear(table(INDICES[0])).sum().backward()
    (linear(other(INDICES[0])).sum() * 1).backward()
    assert seen == [True] and torch.allclose(table.weight.grad.to_dense(), 2 * other.weight.grad)
    norm = torch.cat([table.weight.grad.to_dense().ravel(), *[p.grad.ravel() for p in linear.parameters()]]).norm()
    found = nn.utils.clip_grad_norm_([table.weight, *linear.parameters()], 0.5)
    after = torch.cat([table.weight.grad.to_dense().ravel(), *[p.grad.ravel() for p in linear.parameters()]]).norm()
    assert torch.allclose(found, norm) and abs(after.item() - 0.5) < 1e-4
    optimizer = torch.optim.SGD([table.weight, *linear.parameters()], 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(table(INDICES[1]).sum()).backward()
    scaler.step(optimizer)
    optimizer.zero_grad(set_to_none=False)
    assert table.weight.grad.is_sparse and table.weight.grad._nnz() == 0 and linear.weight.grad.abs().sum() == 0


class GraphConvolution(nn.Module):
    """Kipf and Welling, "Semi-supervised classification with graph convolutional networks", ICLR 2017."""

    def __init__(self, n, hidden, classes):
        super().__init__()
        self.first, self.second = nn.Linear(n, hidden), nn.Linear(hidden, classes)

    def forward(self, x, adjacency):
        x = torch.relu(torch.spmm(adjacency, self.first(x)))
        return F.log_softmax(torch.sparse.mm(adjacency, self.second(x)), 1)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=repr)
def test_a_graph_network_learns_as_with_a_dense_matrix(layout):
    rng = np.random.default_rng(0)
    edges = torch.from_numpy(rng.integers(0, 20, (2, 50)))
    adjacency = torch.sparse_coo_tensor(edges, torch.ones(50), (20, 20))
    adjacency = adjacency + adjacency.t() + torch.eye(20).to_sparse()
    degree = torch.sparse.sum(adjacency, 1).to_dense()
    adjacency = (torch.sparse.spdiags(1 / degree, torch.tensor([0]), (20, 20)) @ adjacency).to_sparse(layout=layout)
    x = torch.from_numpy(rng.standard_normal((20, 4)).astype("float32"))
    labels = torch.from_numpy(rng.integers(0, 3, 20))
    losses = []
    for matrix in (adjacency, adjacency.to_dense()):
        torch.manual_seed(0)
        model = GraphConvolution(4, 8, 3)
        if matrix is not adjacency:
            model.forward = lambda x, a, m=model: F.log_softmax(a @ m.second(torch.relu(a @ m.first(x))), 1)
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        for _ in range(10):
            optimizer.zero_grad()
            loss = F.nll_loss(model(x, matrix), labels)
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - losses[1]) < 1e-5 and losses[0] < 1.1


def test_attention_over_edges():
    """Velickovic et al., "Graph attention networks", ICLR 2018: softmax over the edges of a node, in sparse tensors."""
    torch.manual_seed(0)
    edges = torch.tensor([[0, 0, 1, 2, 2, 2], [1, 2, 0, 0, 1, 2]])
    h, a = torch.rand(3, 4, dtype=torch.float64), torch.rand(8, dtype=torch.float64, requires_grad=True)

    def attend(h, a):
        scores = F.leaky_relu(torch.cat([h[edges[0]], h[edges[1]]], 1) @ a)
        return torch.sparse.mm(torch.sparse.softmax(torch.sparse_coo_tensor(edges, scores, (3, 3)), 1), h)

    assert torch.autograd.gradcheck(attend, (h.requires_grad_(), a))
    assert torch.allclose(attend(torch.ones(3, 4, dtype=torch.float64), a), torch.ones(3, 4, dtype=torch.float64))


def sparse_embedding():
    net = nn.Sequential(nn.Embedding(30, 8, sparse=True), nn.Flatten())
    loop(net, (torch.randint(0, 30, (64, 2)), torch.randint(0, 16, (64,))),
         optimizer=torch.optim.SGD(net.parameters(), lr=0.1), steps=12)


def test_the_run_doctor_raises_no_alarm():
    torch.manual_seed(0)
    assert examine(sparse_embedding).findings == []
