"""``nn.summary(model, input)``: the layers of a model with their output shapes, parameters and work, as a table."""

from .. import random
from ..autograd.grad_mode import no_grad
from ..core.registry import guests
from ..core.tensor import Tensor
from ..utils._pytree import tree_leaves
from .flops import work_noted

__all__ = ["summary", "Summary"]


def summary(model, *inputs, depth=None, **kwargs):
    """Run ``model(*inputs, **kwargs)`` once, unrecorded, and report each module's work. Not in
    PyTorch.

    Rows stand in the order of the calls, children under their parents, to `depth` levels (default: all). Parameters
    are those of a module's own, each counted once; FLOPs those of matrix products and convolutions, two for each
    multiplication with its addition, biases left out. The model's mode, buffers and random state are put back.

    >>> import minitorch
    >>> from minitorch import nn
    >>> net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> print(nn.summary(net, minitorch.zeros(5, 4)))
    module       output  parameters  FLOPs
    Sequential   [5, 2]           0    480
      0: Linear  [5, 8]          40    320
      1: ReLU    [5, 8]           0      0
      2: Linear  [5, 2]          18    160
    58 parameters (232 bytes), all trainable; 480 FLOPs for one call
    """
    return Summary(model, inputs, kwargs, depth)


class Row:
    """One call of a module: `path`, `kind`, `level`, `output` (shapes), `parameters` (its own), `flops`."""

    def __init__(self, path, kind, level, parameters):
        self.path, self.kind, self.level, self.parameters = path, kind, level, parameters
        self.output, self.flops = [], 0

    @property
    def label(self):
        name = self.path.rpartition(".")[2]
        return f"{name}: {self.kind}" if name else self.kind


class Summary:
    """The result of `summary`: `rows`, `parameters`, `trainable`, `bytes`, `flops`; text and HTML."""

    def __init__(self, model, inputs, kwargs, depth=None):
        self.model, self.depth, self.rows = model, depth, []
        self.names = {m: path for path, m in model.named_modules()}
        self.seen = set()                                  # parameters that were counted
        self.open = []                                     # the calls that are running, outermost first
        self.run(inputs, kwargs)
        own = list(model.parameters())
        self.parameters = sum(p.numel() for p in own)
        self.trainable = sum(p.numel() for p in own if p.requires_grad)
        self.bytes = sum(p.nbytes for p in own)
        self.flops = self.rows[0].flops if self.rows else 0

    # -- running -----------------------------------------------------------------------------------------------
    def run(self, inputs, kwargs):
        """Call the model with hooks on all of its modules and an eye on the ops."""
        handles = [m.register_forward_pre_hook(self.enter) for m in self.names]
        handles += [m.register_forward_hook(self.leave, always_call=True) for m in self.names]
        buffers = {name: b.detach().clone() for name, b in self.model.named_buffers()}
        state = random.get_rng_state()
        try:
            with no_grad(), work_noted(self.note):
                self.model(*inputs, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
            random.set_rng_state(state)
            with no_grad():
                for name, b in self.model.named_buffers():
                    if name in buffers:
                        b.copy_(buffers[name])

    def enter(self, module, args):
        own = [p for p in module._parameters.values() if p is not None and p not in self.seen]
        self.seen.update(own)
        row = Row(self.names[module], type(module).__name__, len(self.open), sum(p.numel() for p in own))
        self.rows.append(row)
        self.open.append(row)

    def leave(self, module, args, output):
        row = self.open.pop()
        row.output = shapes_of(output)

    def note(self, name, flops):
        """Count the work of an op in all calls of modules that are running."""
        for row in self.open:
            row.flops += flops

    # -- words -------------------------------------------------------------------------------------------------
    def table(self):
        """Rows of words: module, output, parameters, FLOPs."""
        return [["  " * r.level + r.label, ", ".join(map(str, r.output)), f"{r.parameters:,}", f"{r.flops:,}"]
                for r in self.rows if self.depth is None or r.level <= self.depth]

    def total(self):
        """The last line."""
        frozen = self.parameters - self.trainable
        kinds = f"{frozen:,} of them frozen" if frozen else "all trainable"
        return f"{self.parameters:,} parameters ({self.bytes:,} bytes), {kinds}; {self.flops:,} FLOPs for one call"

    def __str__(self):
        rows = [["module", "output", "parameters", "FLOPs"], *self.table()]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join([row[0].ljust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2]),
                            row[3].rjust(widths[3])]) for row in rows]
        return "\n".join([*lines, self.total()])

    __repr__ = __str__

    def _repr_html_(self):
        return guests.summary_html(self) if "summary_html" in guests else None

    def save(self, path):
        """Write it to `path`, whose ending chooses the form: .html or .txt; returns the path."""
        return guests.view(self).save(path)


def shapes_of(output):
    """The shapes of the tensors in a module's result."""
    return [list(t.shape) for t in tree_leaves(output) if isinstance(t, Tensor)]
