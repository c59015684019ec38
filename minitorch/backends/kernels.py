"""`Kernels`: the decorator that enters hand-written kernels, the same for every backend."""

import functools

from ..core.registry import OPS

__all__ = ["Kernels", "definition_names", "parameter_names"]


class Kernels:
    """The hand-written kernels of one kind of backend; called, the decorator that enters one.

        @kernel("softmax", when=lambda F, input, dim: input.size > 0)
        def softmax(F, input, *, dim): ...

    A kernel takes the place of the reference of the op definition of that name: it has its parameters and its results
    (of an op that `keeps` something, all that is kept too). It is called with `F`, the backend, and raw arrays.
    `when`, a function of the same arguments, says which calls it supports; all others go to ``F.reference.<name>``, as
    does a kernel that finds out only later. `halves` says that it takes 16-bit floats itself, computing in float32 and
    rounding once; other kernels are given float32. `lean` is a function like the kernel that returns the results
    without what the op keeps, for calls that are not recorded. `sample`, a function of a
    `minitorch.testing.strategies.Draw` that returns inputs and attributes, gives the tests inputs that the kernel
    supports, where the definition's own samples are too small for it. `called` says that programs of `compile` that
    are C call the kernel, in place of a loop made from the reference: True, or a function of its arguments.

    Kernels `over` others, a table by op name, take the place of those: calls that `when` refuses go there, and only
    where there is none, to the reference.

    TypeError for a name without a definition, other parameters than the definition's, or a kernel that is there
    already.
    """

    def __init__(self, kind, over=None):
        self.kind, self.found, self.over = kind, {}, {} if over is None else over

    def __call__(self, name, when=None, halves=False, lean=None, sample=None, called=False):
        def enter(function):
            self.check(name, function)
            if lean is not None:
                self.check(name, lean)
            under = self.over.get(name)
            found = function if when is None else falling_back(name, function, when, under)
            found.takes_halves = halves if under is None else under.takes_halves
            found.lean, found.sample = lean if under is None else lean_over(name, lean, when, under), sample
            found.called, found.supports = called, when
            self.found[name] = found
            return function
        return enter

    def check(self, name, function):
        if name not in OPS:
            raise TypeError(f"a {self.kind} kernel for {name!r}: there is no op definition of this name")
        if name in self.found:
            raise TypeError(f"a {self.kind} kernel for {name!r}: it already has one")
        wanted, given = definition_names(OPS[name]), parameter_names(function)
        if given is not None and given != wanted:
            raise TypeError(f"a {self.kind} kernel for {name!r} takes {given}, its definition {wanted}")


def definition_names(op):
    """The names of a definition's inputs and attributes, as kernels take them: a list of tensors comes last."""
    inputs, attrs = [x.name for x in op.inputs], [k for k, _ in op.attrs]
    return attrs + inputs if op.inputs[0].kind == "variadic" else inputs + attrs


def parameter_names(function):
    """The names of a function's parameters without the first (F), in order; None if it takes any (``**attrs``)."""
    code = function.__code__
    if code.co_flags & 0x08:
        return None
    n = code.co_argcount + code.co_kwonlyargcount
    return [*code.co_varnames[1:n], *code.co_varnames[n:n + bool(code.co_flags & 0x04)]]


def lean_over(name, lean, when, under):
    """A `lean` function for the calls that its kernel supports, and that of the kernel `under` it for the others."""
    if lean is None or when is None:
        return lean
    return falling_back(name, lean, when, under.lean or (lambda F, *arrays, **attrs: under(F, *arrays, **attrs)[0]))


def falling_back(name, function, when, under=None):
    """A kernel for the calls that it supports, and the one `under` it, or the reference, for the others."""
    @functools.wraps(function)
    def call(F, *arrays, **attrs):
        if when(F, *arrays, **attrs):
            return function(F, *arrays, **attrs)
        if under is not None:
            return under(F, *arrays, **attrs)
        return getattr(F.reference, name)(*arrays, **attrs)
    return call
