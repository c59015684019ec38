"""Lowering of an op by its reference, which is run on the arrays of the trace; the instructions of
that run are lowered."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from ..extend import OPS, Backend, is_half, owner, versions
from ..utils._pytree import tree_map
from . import c_words
from .indexed import Indexed
from .items import OP, KernelKnowsBetter, NoLowering, Product, handlers_of, lowers
from .program import Value, values_in
from .trace import Recorder
from .traced import Traced, TracedNumber, Tracer, arrays_in

__all__ = ["References"]

INDEXED = handlers_of(Indexed)

class ReferenceTracer(Tracer):
    """A backend that traces the references of all ops, past the kernels."""

    def __init__(self, base, recorder):
        super().__init__(base, recorder)
        self.kernels = {}

    def __getattr__(self, name):
        if name.removeprefix("full_") in OPS:
            # one function in C, many calls of NumPy; or one that would check its indices here
            whole = name in c_words.SCALAR and not hasattr(np, name) or ("op", name) in INDEXED
            found = self.opaque(name, getattr(self.base, name)) if whole else self.find(name, {})
            setattr(self, name, found)
            return found
        return Backend.__getattr__(self, name)


class References:
    """A part of `Lowering`."""

    @lowers(OP)
    def expanded(self, i, *args, **kwargs):
        """The items of an op's reference, in place of the op."""
        recorder = Recorder(self.base)
        tracer = ReferenceTracer(self.base, recorder)
        values = values_in((args, kwargs))
        for v in values:
            recorder.roots.setdefault(id(owner(v.example)), (owner(v.example), v.root))
        if any(recorder.roots[id(owner(v.example))][1] is not v.root for v in values):
            raise NoLowering("operands whose memory was found to be another's")

        def traced(v):
            if not isinstance(v, Value):
                return v
            if v.number:
                return TracedNumber(v.sample, recorder, v)
            made = Traced(v.example, recorder)
            made.value = v
            return made
        halves = any(is_half(v.dtype) for v in values)
        function = getattr(tracer.fp32 if halves else tracer, i.name[2:])
        try:
            with np.errstate(all="ignore"):
                result = function(*tree_map(traced, args), **tree_map(traced, kwargs))
        except Exception as error:  # it looks at values that are not those of the trace any more
            raise NoLowering(f"its reference fails ({type(error).__name__})")
        finally:
            for x in recorder.owners.values():             # which share the versions of the arrays
                versions.forget(x)
        if recorder.broken is not None:
            raise NoLowering(recorder.broken.split(", at ")[0])
        found = [result] if isinstance(result, Traced) else arrays_in(result)
        return self.as_results(i, recorder, found)

    def as_results(self, i, recorder, results):
        """Lower the instructions of a reference; its results become those of the op."""
        mapping, copies = matched(i.results, results, recorder)
        instructions = recorder.program.instructions
        roots = recorder.program.written()
        rename(instructions, mapping)
        items, doing = [], i
        with self.attempt(roots | {mapping[r] for r in roots if r in mapping}):
            try:
                for doing in instructions:
                    items += self.lowered(doing)
                for v, r in copies:
                    items += self.copied(v, r)
                if sum(isinstance(item, Product) for item in items) > self.most_products:
                    raise KernelKnowsBetter("its kernel knows better")
            except KernelKnowsBetter:
                raise
            except NoLowering as why:
                raise NoLowering(f"{doing.name} in its reference: {why}")
        for item in items:
            item.names = [i.what]
        return items

    @contextmanager
    def attempt(self, roots):
        """A block that also writes to `roots`; if it fails, its items are removed again."""
        written, constants, makers = self.written, self.constants, dict(self.makers)
        self.written, self.constants = written | roots, []
        try:
            yield
        except NoLowering:
            self.makers = makers
            for r in self.constants:
                r.kind = "made"
            raise
        finally:
            self.written, self.constants = written, constants


def matched(wanted, found, recorder):
    """Which values of a reference can be an instruction's results as they are, and (value, result)
    of the others."""
    if len(found) != len(wanted):
        raise NoLowering("another number of results")
    made = {v for j in recorder.program.instructions for v in j.results}
    mapping, copies = {}, []
    for r, x in zip(wanted, found):
        v = recorder.value_of(x)
        if r.shape != v.shape or r.dtype != v.dtype or r.root is not r:
            raise NoLowering("results of another kind")
        whole = v in made and v.root is v and v.example.strides == r.example.strides
        if whole and v not in mapping:
            mapping[v] = r
        else:
            copies.append((v, r))
    return mapping, copies


def rename(instructions, mapping):
    """Put other values in the places of some."""
    for j in instructions:
        j.replace(mapping)
        j.results = [mapping.get(r, r) for r in j.results]
        if isinstance(j.template, Value):
            j.template = mapping.get(j.template, j.template)
        for r in j.results:
            r.root = mapping.get(r.root, r.root)
