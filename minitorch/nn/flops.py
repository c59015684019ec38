"""FLOPs of a program, by module: ``torch.utils.flop_counter``."""

from collections import defaultdict

from ..core.layers import observed
from ..core.registry import OPS
from ..ops.labels import bind, flops_of, is_product
from . import hooks

__all__ = ["FlopCounterMode"]


def work_noted(note, custom=None):
    """A layer that calls ``note(name, flops)`` after each op that has work; what an op calls itself counts as its own.

    custom: functions of the result and the inputs by op name, in place of the definitions'.
    """
    custom, inside = custom or {}, 0                       # inside: how many ops are running, one within the other

    def begin(name, arrays, attrs, backend):
        nonlocal inside
        inside += name in OPS                              # not the run of a compiled function
        return name, arrays, attrs

    def end(call, result):
        nonlocal inside
        name, arrays, attrs = call
        inside -= name in OPS
        if inside or result is None:
            return
        if work := custom.get(name) or (OPS[name].flops if name in OPS else None):
            note(name, work(result[0] if isinstance(result, tuple) else result, *arrays))
        elif name in OPS and (flops := product_flops(OPS[name], arrays, attrs)):
            note(name, flops)
    return observed(begin, end)


def product_flops(op, arrays, attrs):
    """The FLOPs of an op whose index notation shows a sum of products; None of others."""
    try:
        call = bind(op, [x if x is None else getattr(x, "shape", ()) for x in arrays], attrs)
    except ValueError:                                     # its column does not describe such shapes
        return None
    return flops_of(call) if call is not None and is_product(call) else None


class FlopCounterMode:
    """Counts the FLOPs of all products, convolutions and sums in a block, by module and op.

    >>> import minitorch
    >>> model = minitorch.nn.Sequential(minitorch.nn.Linear(4, 5))
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = model(minitorch.ones(2, 4))
    >>> counter.get_total_flops()
    80

    Work of a backward pass is counted under "Global" only.

    Args:
        mods: accepted; modules are found by themselves.
        depth: how many levels of modules `get_table` shows.
        display: print the table when the block ends.
        custom_mapping: functions of the result and the inputs (raw arrays) by op name, in place of the definitions'.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.depth, self.display, self.custom = depth, display, dict(custom_mapping or {})
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self.paths, self.open = {}, []

    def __enter__(self):
        self.flop_counts.clear()
        self.handles = [hooks.register_module_forward_pre_hook(self.enter),
                        hooks.register_module_forward_hook(self.leave, always_call=True)]
        self.layer = work_noted(self.note, self.custom)
        self.layer.__enter__()
        return self

    def __exit__(self, *exc):
        self.layer.__exit__(*exc)
        for handle in self.handles:
            handle.remove()
        self.open.clear()
        if self.display:
            print(self.get_table())

    def enter(self, module, args):
        if not self.open:
            kind = type(module).__name__
            self.paths.update({m: f"{kind}.{name}" if name else kind for name, m in module.named_modules()})
        self.open.append(self.paths.get(module, type(module).__name__))

    def leave(self, module, args, output):
        self.open.pop()

    def note(self, name, flops):
        """Count the work of an op in all calls of modules that are running."""
        for path in dict.fromkeys(["Global", *self.open]):
            self.flop_counts[path][name] += flops

    def get_total_flops(self):
        """The FLOPs of the block."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """FLOPs by module ("Global" for all) and op name, as dicts."""
        return {path: dict(counts) for path, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """A text with a row for each module down to `depth` levels, and for each of its ops."""
        depth, total = self.depth if depth is None else depth, max(self.get_total_flops(), 1)
        rows = [("Module", "FLOP", "% Total")]
        for path, counts in self.flop_counts.items():
            if path.count(".") <= depth:
                rows += [(path, sum(counts.values())), *[(f" - {name}", n) for name, n in counts.items()]]
        rows = rows[:1] + [(name, f"{n:,}", f"{100 * n / total:.2f}%") for name, n in rows[1:]]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows)
