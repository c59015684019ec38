"""Derivative formulas with plans: what the formulas of a node launch, carried out without the Python in between.

A formula is a function of arrays and plain values like any other, and most are made of several ops: `pull_of` gives a
node's ``op.pull`` a plan for each kind of gradient and saved values (`runtime/plans.py`). Formulas of one call gain
nothing, since that call has a plan of its own, and those of views compute nothing.
"""

import dis
from functools import partial
from typing import NamedTuple

from ...core import layers
from ...core.backend import Float32Compute
from ...random.philox import Place

__all__ = ["Pulls", "pull_of"]


class Parent(NamedTuple):
    """The part of a key that stands for a parent: whether there is one, and its shape where a formula reads that."""

    shape: tuple
    parents: bool = True


class Pulls(dict):
    """``pull(F, g, saved, parents)`` of op definitions on the backend `F`, by definition and class of backend."""

    def __init__(self, F):
        self.F = F

    def __missing__(self, key):
        def first(F, g, saved, parents):
            """The places of random numbers differ from call to call, and the ops that read them have own plans."""
            pull = self[key] = op.pull if any([v.__class__ is Place for v in saved]) else self.made(*key)
            return pull(F, g, saved, parents)
        op, _ = key
        found = self[key] = op.pull if op.view or is_one_call(op) else first
        return found

    def made(self, op, kind):
        """The pull of a definition with plans."""
        shaped = [x.name + "_shape" in op.reads.get(x.name, ()) for x in op.inputs]
        numbers = [k for k, i in enumerate(op.saved_places) if i.__class__ is int and 0 <= i < len(op.inputs)
                   and op.inputs[i].kind == "number"]
        takes_shapes, calls = True in shaped, {}           # calls with plans: by the parents there are, outputs

        def pull(F, g, saved, parents):
            for k in numbers:
                if saved[k].__class__ is float:            # whose value may differ from step to step
                    return op.pull(F, g, saved, parents)
            several = g.__class__ is list or g.__class__ is tuple
            asked = len(g) if several else 0, *[p is not None for p in parents]
            call = calls.get(asked) or calls.setdefault(asked, self.with_plans(op, kind, *asked))
            if takes_shapes:
                shapes = tuple([None if p is None or not own else (p if p.parents else p.array).shape
                                for p, own in zip(parents, shaped)])
                return call(*(g if several else (g,)), *saved, shapes=shapes)
            return call(*g, *saved) if several else call(g, *saved)
        return pull

    def with_plans(self, op, kind, outputs, *asked):
        """``call(*gradients, *saved)`` with a plan for each kind of call, for the parents that are `asked`."""
        def run(F, *values, shapes=None):
            g, saved = (list(values[:outputs]), values[outputs:]) if outputs else (values[0], values[1:])
            parents = [Parent(shape) if there else None for there, shape in zip(asked, shapes or asked)]
            return op.pull(F.fp32 if kind is Float32Compute else F, g, saved, parents)
        name = op.name, kind, outputs, *asked
        return self.F.planned(name, partial(run, self.F), lambda shadow: partial(run, shadow))


def is_one_call(op):
    """True if the gradients are those of one call of an op."""
    formulas = [op.joint] if op.joint else [f for f in op.vjps.values() if f]
    names = [step.opname for f in formulas for step in dis.get_instructions(f)]
    return sum([n.startswith(("CALL", "BINARY", "UNARY", "COMPARE")) for n in names]) == 1


def pull_of(F, node, create_graph):
    """``pull(F, g, saved, parents)`` of a node on the backend `F`: with plans, unless the pass is recorded or a layer
    watches."""
    op = node.op
    return op.pull if create_graph or layers.stack else F.pulls[op, node.backend.__class__]
