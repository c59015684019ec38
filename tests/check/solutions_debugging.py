"""Unusual right answers to the exercises of lesson 23 (test_solutions.py)."""

import math

import numpy as np

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F
from tests.check.solutions import also, solves

also(nb23_first_loss=lambda counts: torch.distributions.Categorical(torch.tensor(counts).double()).entropy().item(),
     nb23_update_ratio=lambda a, b: float(np.linalg.norm((b - a).numpy()) / np.linalg.norm(a.numpy())),
     nb23_dead=lambda h: sum(h[:, j].max().item() <= 0 for j in range(h.shape[1])) / h.shape[1],
     nb23_first_bad=lambda values: next((n for n, x in values if math.isnan((x - x).sum().item())), None),
     nb23_triage=lambda f, n, r, d: ("not finite" if n - n != 0 else "rate too high" if n > f and r > 0.1 else
                                     "dead" if d > 0.5 else "rate too low" if r < 1e-5 else "healthy"))
also(nb23_first_loss=lambda counts: math.log(sum(counts)) - sum(n * math.log(n) for n in counts if n) / sum(counts),
     nb23_update_ratio=lambda a, b: math.sqrt(((b - a) ** 2).sum().item()) / math.sqrt((a ** 2).sum().item()),
     nb23_dead=lambda h: (h.sum(0) == 0).float().mean().item(),
     nb23_first_bad=lambda values: ([n for n, x in values if not np.isfinite(x.numpy()).all()] + [None])[0])


@solves("nb23.triage")
def by_a_table(first, last, ratio, dead):
    rows = [(not math.isfinite(last), "not finite"), (ratio > 0.1 and first < last, "rate too high"),
            (dead > 1 / 2, "dead"), (ratio < 1e-5, "rate too low"), (True, "healthy")]
    return [word for fits, word in rows if fits][0]


@solves("nb23.fit")
def whole_batches(x, y):
    x = x / 255 - 0.5
    net = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(60):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    net.eval()
    with torch.no_grad():
        return net(x).max(1).indices


@solves("nb23.fit")
def without_a_network(x, y):
    x = (x - x.mean(0)) / x.std(0)
    w = torch.zeros(8, 4, requires_grad=True)
    b = torch.zeros(4, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.5)
    for _ in range(60):
        optimizer.zero_grad()
        F.nll_loss((x @ w + b).log_softmax(1), y).backward()
        optimizer.step()
    return (x @ w + b).detach().argmax(1)
