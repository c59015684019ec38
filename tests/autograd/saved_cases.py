"""Calls whose results and inputs are written to afterwards: what does an op keep for its backward pass?

The calls, `data/saved_calls.txt`, reach every differentiable definition by PyTorch's public names, so that both
libraries can evaluate them. `writes` tells what becomes of a gradient after a write, `second` whether gradients require
gradients. What PyTorch does is recorded in `data/saved.json` by ``python -m tests.autograd.saved_cases``.
"""

import json
import warnings

import numpy as np

from tests import DATA

RECORDED = DATA / "saved.json"
CASES = [line for line in (DATA / "saved_calls.txt").read_text().splitlines() if line and not line.startswith("#")]


# ---- evaluation, in either library -------------------------------------------------------------------------
def arrays():
    """The operands of the expressions: numbers well apart from each other and from what makes a kink."""
    rng = np.random.default_rng(0)

    def spread(*shape, lo=-1.0, hi=1.0):
        n = int(np.prod(shape))
        return rng.permutation(np.linspace(lo, hi, n + 2)[1:-1] + (hi - lo) * 0.013 / n).reshape(shape)

    regular = rng.uniform(-1, 1, (3, 3)) + 2 * np.eye(3)
    return dict(
        x=spread(2, 3), y=spread(2, 3, lo=-1.1, hi=0.93), p=spread(2, 3, lo=0.2, hi=0.9),
        q=spread(2, 3, lo=0.25, hi=0.97), s=np.array(0.7), v=spread(3, lo=0.3), w=spread(3, hi=0.8), A=regular,
        B=rng.uniform(-1, 1, (3, 3)), S=regular @ regular.T + np.eye(3), L=np.tril(regular), b3=spread(2, 3, 3),
        c3=spread(2, 3, 1), seq=spread(2, 4, 8), img=spread(2, 4, 6, 6), vol=spread(1, 2, 4, 4, 4), wt1=spread(3, 4, 3),
        wt2=spread(3, 4, 3, 3), wt3=spread(3, 2, 2, 2, 2), wtt1=spread(4, 3, 3), wtt=spread(4, 3, 3, 3),
        wg=spread(4, 1, 3, 3), W=spread(4, 3), c4=spread(4), g4=spread(4, lo=0.5), E=spread(5, 3),
        qa=spread(2, 2, 4, 3), ka=spread(2, 2, 4, 3, hi=0.9), va=spread(2, 2, 4, 3, hi=0.8), X=spread(2, 3, 4),
        attention_mask=spread(4, 4), grid=spread(2, 3, 3, 2), theta=spread(2, 2, 3),
        logs=np.log(rng.dirichlet(np.ones(4), (5, 2))),
        i=np.array([[0, 1, 0], [1, 1, 0]]), i2=np.array([[1, 2, 3], [2, 4, 1]]), j=np.array([1, 0]),
        k=np.array([2, 0, 1]), t=np.array([2, 0]), t2=rng.integers(0, 4, (2, 6, 6)),
        ids=np.array([[0, 1, 4], [2, 1, 0]]), mask=np.array([[True, False, True], [False, False, True]]),
        labels=np.array([[1, 2], [3, 1]]), lengths=np.array([5, 4]), label_lengths=np.array([2, 1]),
        places=np.broadcast_to(np.arange(9).reshape(3, 3) * 2 + np.arange(3)[:, None] * 6, (2, 4, 3, 3)).copy(),
        signs=np.array([[1.0, -1, 1], [-1, 1, -1]]), mean4=spread(4), var4=spread(4, lo=0.5),
        class_weights=spread(3, lo=0.5))


CONSTANT = ("signs", "mean4", "var4", "class_weights")                      # floats that need no gradient


def modules(library):
    """Layers with the same parameters in both libraries."""
    nn = library.nn
    made = dict(lstm=nn.LSTM(4, 3), gru=nn.GRU(4, 3), rnn=nn.RNN(4, 3), mha=nn.MultiheadAttention(4, 2),
                encoder=nn.TransformerEncoderLayer(4, 2, 8, 0.0))
    for module in made.values():
        module.double()
        for parameter in module.parameters():
            n = parameter.numel()
            parameter.data = library.from_numpy(np.sin(np.arange(n) * 1.7 + 1).reshape(tuple(parameter.shape)) * 0.5)
    return made


class Run:
    """One evaluation of an expression: its inputs as leaves, as they were used, and its results.

    All floats among the inputs require gradients, or the one named `alone`.
    """

    def __init__(self, library, expression, alone=None):
        names = compile(expression, "<case>", "eval").co_names
        self.leaves, self.used = {}, {}
        for name, array in arrays().items():
            if name in names:
                leaf = self.leaves[name] = library.from_numpy(array.copy())
                if array.dtype.kind == "f" and name not in CONSTANT and alone in (None, name):
                    leaf.requires_grad_()
                self.used[name] = leaf.clone()             # the clone keeps nothing
        made = modules(library) if {"lstm", "gru", "rnn", "mha", "encoder"} & set(names) else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(expression, {"torch": library, "F": library.nn.functional, **self.used, **made})
        self.library, self.results = library, list(tensors_in(result, library))

    def live(self):
        return {name: leaf for name, leaf in self.leaves.items() if leaf.requires_grad}

    def gradients(self, create_graph=False):
        """The gradients of the weighted results: by name, None where nothing depends on it."""
        outs = [out for out in self.results if out.requires_grad]
        seeds = [self.library.from_numpy(np.linspace(1, 2, out.numel()).reshape(tuple(out.shape))).to(out.dtype)
                 for out in outs]
        if not outs:
            return {}
        live = self.live()
        found = self.library.autograd.grad(outs, list(live.values()), seeds, create_graph=create_graph,
                                           allow_unused=True)
        return dict(zip(live, found))

    def targets(self):
        """All that can be written to afterwards, by name: the inputs and the results."""
        return {**self.used, **{f"out{n}": out for n, out in enumerate(self.results)}}


def tensors_in(value, library):
    if isinstance(value, library.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from tensors_in(part, library)


def write(library, tensor):
    """Other values in place, without a change of what gradients should be."""
    if tensor.dtype is library.bool:
        tensor.logical_not_()
    elif tensor.is_floating_point() or tensor.is_complex():
        tensor.add_(1)
    else:
        tensor.zero_()


def same(found, wanted):
    return found.keys() == wanted.keys() and all(
        (a is None) == (b is None) and (a is None or np.array_equal(a.detach().numpy(), b.detach().numpy(), True))
        for a, b in zip(found.values(), wanted.values()))


def writes(library, expression, alone=None):
    """The fate of the gradients after a write to each of the targets: {target: verdict}.

    "right": they are those without the write; "refused": the backward pass raises; "unwritable": the write raises;
    "wrong": none of these.
    """
    first, verdicts = Run(library, expression, alone), {}
    wanted = first.gradients()
    for target in first.targets():
        run = Run(library, expression, alone)
        try:
            write(library, run.targets()[target])
        except RuntimeError:
            verdicts[target] = "unwritable"
            continue
        try:
            verdicts[target] = "right" if same(run.gradients(), wanted) else "wrong"
        except RuntimeError as error:
            verdicts[target] = "refused" if "inplace operation" in str(error) else f"error: {error}"
    return verdicts


def all_writes(library, expression):
    """`writes`, where all inputs require gradients ("") and where each is the only one: {who: {target: verdict}}."""
    live = Run(library, expression).live()
    return {who: writes(library, expression, who or None) for who in ("", *(live if len(live) > 1 else ()))}


def second(library, expression):
    """{input: True if its gradient taken with ``create_graph=True`` requires gradients, None if
    unused}."""
    return {name: None if g is None else bool(g.requires_grad)
            for name, g in Run(library, expression).gradients(create_graph=True).items()}


def second_derivatives(library, expression):
    """The gradients of the weighted gradients that require gradients, zero where there are none: {input: array}."""
    run = Run(library, expression)
    firsts = [g for g in run.gradients(create_graph=True).values() if g is not None and g.requires_grad]
    live = run.live()
    seeds = [library.from_numpy(np.linspace(1, 2, g.numel()).reshape(tuple(g.shape))) for g in firsts]
    found = [None] * len(live)
    if firsts:
        found = library.autograd.grad(firsts, list(live.values()), seeds, allow_unused=True)
    return {name: np.zeros(tuple(leaf.shape)) if g is None else np.array(g.detach().tolist()).reshape(tuple(leaf.shape))
            for (name, leaf), g in zip(live.items(), found)}


def recorded():
    """The verdicts of PyTorch: {expression: {"writes": ..., "second": ...}}."""
    return json.loads(RECORDED.read_text())


def record():
    import torch
    lines = [f"{json.dumps(case)}: {json.dumps(dict(writes=all_writes(torch, case), second=second(torch, case)))}"
             for case in CASES]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record()
