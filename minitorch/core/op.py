"""Op definitions. The call that is generated from each: `core/generate.py`.

A definition holds every fact about an op: its reference on raw arrays, a derivative formula (VJP)
for each input, its documentation, its domain, and facts for `autocast`, `compile`, `nn.summary` and
others (`Op` lists the columns). Everything else is derived from the registry `OPS`: functions,
methods, in-place methods, `out=`, gradient checks, parity tests, reference pages.
`minitorch/ops/define.py` has the decorators by which definitions are written.

- A formula is given the values that its parameters name: inputs, `out`, attributes, or
  ``<input>_shape`` and ``<input>_dtype``; the graph keeps only these.
- A formula uses operators and ``F.<op>``, nothing else, because it runs twice: on raw arrays, F
  being the Backend, and on tensors, F being `recorded`, when the backward pass is itself recorded.
- ``joint=formula(F, g, needs, ...)`` returns the gradients of all inputs as a tuple, where they
  share work; `needs` says which of them are asked for.
- The first input is cast to an attribute `dtype`, where it is given, before the forward pass.
- An op whose forward pass returns a tuple has several outputs; then `g` is a tuple with None for an
  unused one, and a formula may ask for one of them (`out1`) instead of all, so that the others may
  be written to afterwards.
- ``keeps=("mean", "rstd")``: the forward pass returns ``(result, mean, rstd)``. Callers get the
  result; formulas read the saved intermediates by these names. They are constants to a recorded
  backward pass: a formula hands them to a backward op, whose own formulas know how they depend on
  the inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

from .recording import recorded
from .registry import OPS

__all__ = ["Input", "Number", "Op", "Other"]

if TYPE_CHECKING:       # to a type checker: arrays, of whatever library the backend has, or numbers
    Number: TypeAlias = Any
    Other: TypeAlias = Any
else:
    class Number:
        """Annotation of an input that may be a Python number instead of a tensor."""

    class Other:
        """Annotation of an input whose dtype stands apart: an index, a mask, a condition."""


class Input:
    """One array argument: `name`, `kind` ("tensor", "number", "other" or "variadic"), and whether
    None will do."""

    def __init__(self, name, kind="tensor", optional=False):
        self.name, self.kind, self.optional = name, kind, optional


@dataclass(eq=False, repr=False, kw_only=True)
class Op:
    """The definition of one op. Each column is one fact about it; whoever needs the fact asks the
    definition.

    From the function that is decorated, or what is said in its place:

    - `name`: in `OPS`, in messages, and as ``F.<name>``
    - `forward`: the reference, ``forward(F, *arrays, **attributes)`` on raw arrays; None if
      `xp_name` is all there is
    - `inputs`: the arrays that it takes, as `Input`s
    - `attrs`: its attributes, as (name, default) pairs
    - `scalars`: the attributes annotated `float`, for which NumPy's scalars and tensors of one
      element will do
    - `older`: it takes PyTorch's older signature too, with numbers among the tensors
      (`minitorch/core/older.py`)
    - `vjps`: the derivative formula (VJP) of each input, by name
    - `doc`: the docstring

    Dtypes:

    - `promotion`: how inputs are brought to one dtype, a word of `minitorch/core/promotion.py`;
      None: they are not
    - `refuses`: kinds of dtypes, as NumPy's letters, that are not supported ("b" bools, "iub" all
      but floats)
    - `check`: a function of the raw inputs that raises an error before their dtypes are brought
      together
    - `of_numbers`: all inputs may be Python numbers
    - `native`: 16-bit floats are not computed in float32
    - `casts`: an attribute `dtype` casts the first input before the call (False: the forward pass
      reads it)
    - `autocast`: in mixed precision inputs are cast to 16 bits ("lower"), to float32 ("float32") or
      to the widest of them ("promote"), perhaps by type of device ("float32 on cpu, promote on
      cuda"); None: they are not cast

    The forward pass:

    - `dims`: which dimensions of inputs and results go together, in the index notation of
      `minitorch/ops/dims.py`: "*" (elementwise), "* [dim] -> * [dim]", "* n k, * k m -> * n m";
      None: nobody relies on any
    - `xp_name`: the array module's function that computes the op
    - `view`: the result shares memory with the first input
    - `outputs`: 1; or a bool for each output, whether it has a gradient; or "list", any number that
      all have one
    - `keeps`: names of intermediates that it returns after its result, for derivative formulas only
    - `restores`: an input that formulas find in one of these, if it has the input's shape: the
      input is None to them then. Its name, the intermediate's, and a function of F and all `keeps`
      that makes it for a recorded backward pass
    - `overlap`: ``out=`` may be an input; False where elements are written elsewhere than they are
      read
    - `layout`: of its results in memory, a rule of `minitorch/core/layouts.py`; None: as the
      forward pass leaves them

    The backward pass:

    - `complex`: what the formulas are for complex numbers: "holomorphic", derivatives as for real
      ones, conjugated by `core/complex.py`, or "conjugate", PyTorch's convention as written; None:
      what reads values refuses them
    - `flat`: inputs whose gradients have zero derivatives: recorded, they are tied to the inputs
      and require gradients
    - `together`: the gradients of all inputs, where all are asked for and the single formulas would
      repeat work
    - `joint`: the derivative formula of all inputs at once, where they share work
    - `tangent`: how the forward derivative follows from the formulas (`autograd/tangents.py`), if
      not as they say
    - `node_name`: PyTorch's name of the graph node (default: from `name`), or a function of the
      node that returns it

    Tools:

    - `mismatch`: a function of the shapes of two inputs that do not fit, which returns the error's
      text, or None
    - `flops`: a function of the result and the inputs (raw arrays): the FLOPs of its products and
      sums
    - `inline`: few array calls, which `compile` traces one by one; other ops are one instruction
    - `zeros`: "kept" by a function of one element, so that sparse tensors are computed by their
      values; "linear" if those at one place need not be added up first; None: sparse tensors are
      refused
    - `by_values`: the shape of its result depends on values; `compile` leaves functions with such
      ops to Python
    - `fusible`: `compile` may compute it in chunks, in one loop with elementwise neighbours, on the
      CPU
    - `functor`: the CUDA functor of an element, ``"softplus(beta, threshold)"`` with the attributes
      that it takes

    Tests:

    - `domain`: input name -> range, where not all of [-2, 2] will do
    - `kinks`: where it is not differentiable: "zero", "ties" or "steps"
    - `sample`: a function of a `Draw` (`testing/strategies.py`) that makes inputs and attributes,
      where these do not
    """

    recorded = recorded

    name: str
    forward: Callable | None
    inputs: list
    attrs: list
    vjps: dict
    doc: str

    scalars: tuple = ()
    older: bool = False
    promotion: str | None = None
    refuses: str = ""
    check: Callable | None = None
    of_numbers: bool = False
    native: bool = False
    casts: bool = True
    autocast: str | None = None

    dims: str | None = None
    xp_name: str | None = None
    view: bool = False
    outputs: int | tuple | str = 1
    keeps: tuple = ()
    restores: tuple = ()
    overlap: bool = True
    layout: str | None = None

    joint: Callable | None = None
    together: Callable | None = None
    complex: str | None = None
    flat: tuple = ()
    tangent: str | None = None
    node_name: str | None = None

    mismatch: Callable | None = None
    flops: Callable | None = None
    inline: bool = False
    by_values: bool = False
    zeros: str | None = None
    fusible: bool = False
    functor: str | None = None

    domain: dict = field(default_factory=dict)
    kinks: str | None = None
    sample: Callable | None = None

    def __post_init__(self):
        self.__doc__ = self.doc
        self.node_name = self.node_name or camel_case(self.name) + "Backward0"
        self.casts = self.casts and any(k == "dtype" for k, _ in self.attrs)
        if unknown := set(self.vjps) - {x.name for x in self.inputs}:
            raise TypeError(f"op {self.name}: a derivative formula for {sorted(unknown)}, which "
                            f"are not inputs")
        self.vjps = {x.name: self.vjps.get(x.name) for x in self.inputs}
        if self.name in OPS:
            raise TypeError(f"op {self.name}: it is defined already")
        self.describe_saved()
        self.refuse_complex()
        OPS[self.name] = self

    def describe_saved(self):
        """Note the values that derivative formulas read (`reads`), and their places in the graph
        (`saved_places`)."""
        skip = 3 if self.joint else 2
        vjps = {None: self.joint} if self.joint else self.vjps | {"together": self.together}
        self.reads = {x: parameters_of(r)[skip:] for x, r in vjps.items() if r}
        self.differentiable = bool(self.reads)
        fields = [(x, field) for x, read in self.reads.items() for field in read]
        self.saved_fields = list(dict.fromkeys(field for x, field in fields
                                               if field != f"{x}_shape"))
        places = ({x.name: slice(None, -1) if self.variadic else i
                   for i, x in enumerate(self.inputs)} | {"out": -1})
        self.saved_places = [places.get(field) for field in self.saved_fields]
        self.saves_arrays = bool(self.keeps) or any([p is not None for p in self.saved_places])
        if unknown := {field for _, field in fields} - self.known_fields():
            raise TypeError(f"op {self.name}: a derivative formula asks for {sorted(unknown)}, "
                            f"which it does not have")

    def known_fields(self):
        """The values that a derivative formula may ask for."""
        inputs = [x.name + part for x in self.inputs for part in ("", "_shape", "_dtype")]
        outputs = len(self.outputs) if isinstance(self.outputs, tuple) else 0
        return {*inputs, "out", *[f"out{i}" for i in range(outputs)], *self.keeps,
                *dict(self.attrs)}

    def refuse_complex(self):
        """Refuse complex numbers if formulas that are not made for them read values."""
        values = {"out", "out0", "out1", *self.keeps, *[x.name for x in self.inputs
                                                        if x.kind != "other"]}
        if (self.complex is None and values.intersection(self.saved_fields)
            and "c" not in self.refuses):
            self.refuses += "c"

    @property
    def variadic(self):
        """True if the op takes a list of tensors, such as `cat`."""
        return self.inputs[0].kind == "variadic"

    def bind(self, backend):
        """The forward pass as a function on `backend`'s arrays, with all that it keeps."""
        return (getattr(backend.xp, self.xp_name) if self.xp_name
                else MethodType(self.forward, backend))

    def __repr__(self):
        return f"<op {self.name}>"


def parameters_of(function):
    """The names of a function's parameters (`inspect.signature` would take most of the package's
    import time)."""
    return list(function.__code__.co_varnames[:function.__code__.co_argcount])


def camel_case(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))
