"""Unusual right answers to the exercises of lessons 19 to 25 (test_solutions.py)."""

import math
from collections import Counter

import numpy as np

import minitorch as torch
from minitorch.nn import functional as F
from tests.check.solutions import also, solves

# 19
also(nb19_bits=lambda losses, characters: sum(losses.tolist()) / characters * math.log2(math.e),
     nb19_windows=lambda codes, k: (torch.stack([codes[i:len(codes) - k + i] for i in range(k)], 1), codes[k:]),
     nb19_forward=lambda x, e, w1, b1, w2, b2: torch.addmm(b2, torch.addmm(b1, F.embedding(x, e).reshape(
         len(x), -1), w1).tanh(), w2),
     nb19_nearest=lambda e, i: max((j for j in range(len(e)) if j != i),
                                   key=lambda j: F.cosine_similarity(e[i], e[j], dim=0).item()))
also(nb19_bits=lambda losses, characters: (losses / math.log(2)).sum().item() / characters,
     nb19_windows=lambda codes, k: (np.lib.stride_tricks.sliding_window_view(codes.numpy(), k)[:-1], codes.numpy()[k:]),
     nb19_nearest=lambda e, i: int(F.cosine_similarity(e, e[[i]], dim=1).argsort(descending=True)[1]))


@solves("nb19.forward")
def place_by_place(x, embedding, w1, b1, w2, b2):
    """The first matrix in blocks, one for each place of the context."""
    d = embedding.shape[1]
    total = b1
    for place in range(x.shape[1]):
        total = total + embedding[x[:, place]] @ w1[place * d:(place + 1) * d]
    return torch.tanh(total) @ w2 + b2


# 20
also(nb20_loss_pull=lambda z, y: torch.func.grad(lambda z: F.cross_entropy(z, y))(z),
     nb20_linear_pull=lambda g, x, w: torch.func.vjp(lambda x, w, b: x @ w + b, x, w, torch.zeros(w.shape[1]).double())[
         1](g),
     nb20_lookup_pull=lambda g, x, n: F.one_hot(x.flatten(), n).double().T @ g.reshape(-1, g.shape[-1]))
also(nb20_loss_pull=lambda z, y: np.array([[(math.exp(v) / sum(map(math.exp, row)) - (j == t)) / len(y)
                                            for j, v in enumerate(row)] for row, t in zip(z.tolist(), y.tolist())]),
     nb20_linear_pull=lambda g, x, w: [torch.einsum("nm,km->nk", g, w), torch.einsum("nk,nm->km", x, g),
                                       torch.ones(len(g)).double() @ g])


@solves("nb20.lookup_pull")
def added_at(g, x, n):
    found = np.zeros((n, g.shape[-1]))
    np.add.at(found, x.numpy(), g.numpy())
    return found


@solves("nb20.backward")
def each_by_autograd(x, y, t):
    """A gradient of its own for each tensor, from the rest of the network behind it."""
    def rest(name, value):
        s = {**t, name: value}
        order = ["embedding", "looked_up", "row", "before", "h", "logits"]
        begin = {"w1": "row", "b1": "row", "w2": "h", "b2": "h"}.get(name, name)
        for step in order[order.index(begin) + 1:]:
            s[step] = (s["embedding"][x] if step == "looked_up" else s["looked_up"].flatten(1) if step == "row"
                       else s["row"] @ s["w1"] + s["b1"] if step == "before" else s["before"].tanh() if step == "h"
                       else s["h"] @ s["w2"] + s["b2"])
        return F.cross_entropy(s["logits"], y)
    return {name: torch.func.grad(rest, argnums=1)(name, t[name]) for name in t}


@solves("nb20.backward")
def in_numpy(x, y, t):
    a = {name: value.numpy() for name, value in t.items()}
    p = np.exp(a["logits"] - a["logits"].max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y.numpy()] -= 1
    logits = p / len(y)
    h = logits @ a["w2"].T
    before = h - h * a["h"] ** 2
    row = before @ a["w1"].T
    embedding = np.zeros_like(a["embedding"])
    np.add.at(embedding, x.numpy().ravel(), row.reshape(-1, embedding.shape[1]))
    return {"embedding": embedding, "looked_up": row.reshape(a["looked_up"].shape), "row": row, "before": before,
            "h": h, "logits": logits, "w1": a["row"].T @ before, "b1": before.sum(0), "w2": a["h"].T @ logits,
            "b2": logits.sum(0)}


# 21
@solves("nb21.best_pair")
def by_sorting(words):
    every = sorted(pair for tokens, count in words for pair in list(zip(tokens, tokens[1:])) * count)
    return max(dict.fromkeys(every), key=every.count)


@solves("nb21.best_pair")
def by_index(words):
    counts = Counter()
    for tokens, count in words:
        for i in range(len(tokens) - 1):
            counts.update({(tokens[i], tokens[i + 1]): count})
    most = max(counts.values())
    return sorted(pair for pair, count in counts.items() if count == most)[0]


@solves("nb21.merge")
def onto_a_stack(tokens, pair, new):
    out = []
    for token in tokens:
        if out and (out[-1], token) == tuple(pair):
            out[-1] = new
        else:
            out.append(token)
    return out


@solves("nb21.merge")
def by_recursion(tokens, pair, new):
    if len(tokens) < 2:
        return list(tokens)
    if tuple(tokens[:2]) == pair:
        return [new] + by_recursion(tokens[2:], pair, new)
    return [tokens[0]] + by_recursion(tokens[1:], pair, new)


@solves("nb21.encode_word")
def in_the_order_of_the_merges(tokens, merges):
    """A merge never makes room for an earlier one: its tokens were made before."""
    for pair, new in merges.items():
        tokens = onto_a_stack(tokens, pair, new)
    return tokens


@solves("nb21.encode_word")
def one_at_a_time(tokens, merges):
    tokens = list(tokens)
    while True:
        found = min(((merges.get(pair, math.inf), i) for i, pair in enumerate(zip(tokens, tokens[1:]))),
                    default=(math.inf, 0))
        if found[0] == math.inf:
            return tokens
        tokens[found[1]:found[1] + 2] = [found[0]]


also(nb21_residual=lambda x, f, norm: torch.stack([x, f(norm(x))]).sum(0),
     nb21_choose=lambda logits, t, k, u: next(
         i for i, total in enumerate(np.cumsum(top_share(logits.tolist(), t, k))) if total > u))
also(nb21_residual=lambda x, f, norm: torch.add(f(norm(x)), x),
     nb21_choose=lambda logits, t, k, u: int(torch.searchsorted(
         torch.tensor(top_share(logits.tolist(), t, k)).double().cumsum(0), u, right=True)))


def top_share(logits, temperature, k):
    kept = sorted(range(len(logits)), key=lambda i: logits[i])[-k:]
    weights = [math.exp(x / temperature) if i in kept else 0.0 for i, x in enumerate(logits)]
    return [w / sum(weights) for w in weights]


# 22
also(nb22_split=lambda writers, held_out: ([i for i, w in enumerate(writers.tolist()) if w not in held_out],
                                           [i for i, w in enumerate(writers.tolist()) if w in held_out]),
     nb22_prepare=lambda p: (p - p.mean(0)) / (p.amax(0) - p.amin(0)).amax() * 20 + 13.5)


@solves("nb22.split")
def in_numpy_split(writers, held_out):
    testing = np.isin(writers.numpy(), held_out)
    return np.flatnonzero(~testing), np.flatnonzero(testing)


@solves("nb22.interval")
def as_roots(right, n, z=1.96):
    """The two shares p for which the difference is z deviations: (right / n - p)^2 = z^2 p (1 - p) / n."""
    share = right / n
    return sorted(np.roots([1 + z * z / n, -2 * share - z * z / n, share ** 2]).real.tolist())


@solves("nb22.interval")
def by_pseudo_counts(right, n, z=1.96):
    """z^2 / 2 more of each kind move the middle; the width is what is left."""
    middle = (right + z * z / 2) / (n + z * z)
    half = math.sqrt(middle ** 2 - right ** 2 / (n * (n + z * z)))
    return [middle - half, middle + half]


@solves("nb22.prepare")
def number_by_number_prepare(points):
    xs, ys = zip(*points.tolist())
    scale = 20 / max(max(xs) - min(xs), max(ys) - min(ys))
    return torch.tensor([[(x - sum(xs) / len(xs)) * scale + 13.5, (y - sum(ys) / len(ys)) * scale + 13.5]
                         for x, y in zip(xs, ys)], dtype=torch.float64)


# 24
@solves("nb24.pictures")
class AsTuples:
    """By iteration over pairs."""

    def __init__(self, images, labels, transform=lambda image: image):
        self.pairs, self.transform = list(zip(images, labels)), transform or (lambda image: image)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        image, label = self.pairs[i]
        return [self.transform(image), label]


@solves("nb24.pictures")
class AsSubclass(torch.utils.data.TensorDataset):
    def __init__(self, images, labels, transform=None):
        super().__init__(images, labels)
        self.transform = transform

    def __getitem__(self, i):
        image, label = super().__getitem__(i)
        return (self.transform(image) if self.transform else image), label


@solves("nb24.batches")
def by_filling(order, size, drop_last=False):
    found, batch = [], []
    for i in order:
        batch.append(i)
        if len(batch) == size:
            found.append(tuple(batch))
            batch = []
    return found + [batch] if batch and not drop_last else found


also(nb24_batches=lambda order, size, drop_last=False: list(torch.utils.data.BatchSampler(order, size, drop_last)),
     nb24_collate=lambda samples: (torch.nn.utils.rnn.pad_sequence([torch.tensor(s) for s, _ in samples], True),
                                   torch.tensor([len(s) for s, _ in samples]), torch.tensor([t for _, t in samples])),
     nb24_standardise=lambda train, test: [(x - train.mean(0)) / train.var(0, unbiased=False).sqrt()
                                           for x in (train, test)],
     nb24_shift=lambda x, down, right: torch.from_numpy(np.roll(np.pad(x.numpy(), ((0, 0), (0, 0), (3, 3), (3, 3))), (
         down, right), (2, 3))[:, :, 3:-3, 3:-3].copy()),
     nb24_weights=lambda labels, classes: 1 / torch.bincount(labels)[labels].double() / len(set(labels.tolist())))
also(nb24_collate=lambda samples: [torch.tensor([(s + 9 * [0])[:max(len(s) for s, _ in samples)] for s, _ in samples]),
                                   *torch.tensor([(len(s), t) for s, t in samples]).T],
     nb24_weights=lambda labels, classes: np.array([1 / labels.tolist().count(t) / len(set(labels.tolist()))
                                                    for t in labels.tolist()]))


@solves("nb24.standardise")
def in_numpy_standardise(train, test):
    a, b = train.numpy(), test.numpy()
    return (a - a.mean(0)) / a.std(0), (b - a.mean(0)) / a.std(0)


@solves("nb24.shift")
def copied(images, down, right):
    out = torch.zeros_like(images)
    h, w = images.shape[-2:]
    for r in range(max(down, 0), min(h + down, h)):
        for c in range(max(right, 0), min(w + right, w)):
            out[:, :, r, c] = images[:, :, r - down, c - right]
    return out


# 25
@solves("nb25.freeze")
def by_names(model):
    """All tensors of the last one's module."""
    owner = [name for name, _ in model.named_parameters()][-1].rpartition(".")[0]
    for name, p in model.named_parameters():
        p.requires_grad = name.rpartition(".")[0] == owner


@solves("nb25.freeze")
def from_the_back(model):
    model.requires_grad_(False)
    for module in reversed(list(model.modules())):
        if module._parameters:
            module.requires_grad_(True)
            return


also(nb25_groups=lambda body, head, lr: [{"params": [p], "lr": rate} for part, rate in ((head, lr), (body, lr / 10))
                                         for p in part.parameters()],
     nb25_quantise=lambda w: (torch.from_numpy(np.rint(w.numpy() * 127 / abs(w.numpy()).max(1, keepdims=True)).astype(
         np.int8)), torch.maximum(w.max(1).values, -w.min(1).values)[:, None] / 127))
also(nb25_groups=lambda body, head, lr: ({"params": body.parameters(), "lr": 0.1 * lr},
                                         {"params": head.parameters(), "lr": lr}),
     nb25_quantise=lambda w: [torch.round(w / (w.norm(torch.inf, dim=1, keepdim=True) / 127)).char(),
                              w.norm(torch.inf, dim=1).unsqueeze(1) / 127])


@solves("nb25.load_fitting")
def copied_in(model, state):
    own, left = model.state_dict(), []
    for name in sorted(state):
        if name in own and own[name].shape == state[name].shape:
            own[name].copy_(state[name])
        else:
            left.append(name)
    return left


@solves("nb25.load_fitting")
@torch.no_grad()
def by_parameters(model, state):
    left = set(state)
    for name, p in model.named_parameters():
        if name in state and list(p.shape) == list(state[name].shape):
            p.mul_(0).add_(state[name])
            left -= {name}
    return tuple(sorted(left))
