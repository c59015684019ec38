"""Op definitions. The call that is generated from each: `core/generate.py`.

A definition holds every fact about an op: its reference on raw arrays, a derivative formula (VJP)
for each input, its documentation, its domain, and facts for `autocast`, `compile`, `nn.summary` and
others (`Op` lists the columns). Everything else is derived from the registry `OPS`: functions,
methods, in-place methods, `out=`, gradient checks, parity tests, reference pages.
`minitorch/ops/define.py` has the decorators by which definitions are written.

- A formula receives the values that its parameters name: inputs, `out`, attributes, or
  ``<input>_shape`` and ``<input>_dtype``; the graph keeps only these.
- A formula uses operators and ``F.<op>``, nothing else, because it must run on two kinds of values:
  on raw arrays, with F the Backend, and on tensors, with F `recorded`, when the backward pass is
  itself recorded.
- ``joint=formula(F, g, needs, ...)`` returns the gradients of all inputs as a tuple, if they share
  work; `needs` has a bool for each input.
- If an attribute `dtype` is given, the first input is cast to it before the forward pass.
- An op whose forward pass returns a tuple has several outputs. Then `g` is a tuple with None for
  unused ones, and a formula may name one of them (`out1`) instead of all, so that the others may be
  written to afterwards.
- ``keeps=("mean", "rstd")``: the forward pass returns ``(result, mean, rstd)``. Callers get the
  result; formulas read the saved intermediates by these names. A recorded backward pass treats them
  as constants: so a formula passes them to a backward op, whose own formulas account for how they
  depend on the inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

from .recording import recorded
from .registry import OPS

__all__ = ["Input", "Number", "Op", "Other"]

if TYPE_CHECKING:                        # for a type checker: arrays of any library, or numbers
    Number: TypeAlias = Any
    Other: TypeAlias = Any
else:
    class Number:
        """Annotation of an input that may be a Python number instead of a tensor."""

    class Other:
        """Annotation of an input whose dtype does not take part in promotion: an index, a mask, a
        condition."""


class Input:
    """One array argument: `name`, `kind` ("tensor", "number", "other" or "variadic"), and
    `optional`, True if it may be None."""

    def __init__(self, name, kind="tensor", optional=False):
        self.name, self.kind, self.optional = name, kind, optional


@dataclass(eq=False, repr=False, kw_only=True)
class Op:
    """The definition of one op. Each column is one fact about it; code that needs the fact reads it
    here.

    From the decorated function, or given in its place:

    - `name`: in `OPS`, in messages, and as ``F.<name>``
    - `forward`: the reference, ``forward(F, *arrays, **attributes)`` on raw arrays; None for an op
      that `xp_name` computes
    - `inputs`: the arrays that it takes, as `Input`s
    - `attrs`: its attributes, as (name, default) pairs
    - `scalars`: the attributes annotated `float`, which may be NumPy scalars and tensors of one
      element too
    - `older`: it takes PyTorch's older signature too, with numbers among the tensors
      (`minitorch/core/older.py`)
    - `vjps`: the derivative formula (VJP) of each input, by name
    - `doc`: the docstring

    Dtypes:

    - `promotion`: how inputs are brought to one dtype, a word of `minitorch/core/promotion.py`;
      None: they are not
    - `refuses`: unsupported kinds of dtypes, as NumPy's letters ("b" bools, "iub" bools and
      integers)
    - `check`: a function of the raw inputs that may raise an error before their dtypes are promoted
    - `of_numbers`: all inputs may be Python numbers
    - `native`: 16-bit floats are not computed in float32
    - `casts`: an attribute `dtype` casts the first input before the call (False: the forward pass
      uses the attribute itself)
    - `autocast`: in mixed precision, inputs are cast to 16 bits ("lower"), to float32 ("float32")
      or to the widest type among them ("promote"); it may differ by type of device ("float32 on
      cpu, promote on cuda"); None: they are not cast

    The forward pass:

    - `dims`: which dimensions of inputs and results go together, in the index notation of
      `minitorch/ops/dims.py`: "*" (elementwise), "* [dim] -> * [dim]", "* n k, * k m -> * n m";
      None: no code relies on any
    - `xp_name`: the array module's function that computes the op
    - `view`: the result shares memory with the first input
    - `outputs`: 1; or a tuple with a bool for each output, True if it has a gradient; or "list" for
      any number of outputs, all with gradients
    - `keeps`: names of intermediates that it returns after its result, for derivative formulas only
    - `restores`: an input that need not be saved because formulas can read an intermediate in its
      place; formulas then get None for the input. A tuple: the input's name, the intermediate's,
      and a function of F and all `keeps` that computes the input for a recorded backward pass. It
      applies where both have the same shape
    - `overlap`: ``out=`` may be an input; False if elements are not written where they are read
    - `layout`: the memory layout of its results, a rule of `minitorch/core/layouts.py`; None: as
      the forward pass leaves them

    The backward pass:

    - `complex`: the meaning of the formulas for complex numbers: "holomorphic": they are written as
      for real numbers, and `core/complex.py` conjugates; "conjugate": they follow PyTorch's
      convention as written; None: the op refuses complex numbers if a formula reads values
    - `flat`: inputs whose gradients have zero derivatives; in a recorded pass these gradients are
      tied to the inputs, so that they require gradients (`core/recording.py`)
    - `together`: a formula for the gradients of all inputs, used if all are needed and the single
      formulas would repeat work
    - `joint`: one formula for the gradients of all inputs in place of the single ones
    - `tangent`: the way to the forward derivative (`autograd/dual/calls.py`), if it cannot be told
      from the values that the formulas read, or "reference": by the reference, on dual arrays
    - `node_name`: PyTorch's name of the graph node (default: from `name`), or a function of the
      node that returns it

    Tools:

    - `mismatch`: a function of the shapes of two inputs that do not fit, which returns the error's
      text, or None
    - `flops`: a function of the result and the inputs (raw arrays) that returns the FLOPs of the
      products and sums, where `dims` does not show them
    - `inline`: it makes few array calls, and `compile` traces each of them; other ops become one
      instruction
    - `zeros`: "kept": it maps 0 to 0, so sparse tensors are computed by their values; "linear": the
      same, and values at one place need not be added up first; None: sparse tensors are refused
    - `by_values`: the shape of its result depends on values; `compile` leaves functions with such
      ops to Python
    - `fusible`: on the CPU, `compile` may compute it in chunks, in one loop with elementwise
      neighbours
    - `functor`: the CUDA functor for one element with the attributes that it takes, such as
      ``"softplus(beta, threshold)"``

    Tests:

    - `domain`: input name -> range of its values, if not [-2, 2]
    - `kinks`: where it is not differentiable: "zero", "ties" or "steps"
    - `sample`: a function of a `Draw` (`testing/strategies.py`) that makes inputs and attributes,
      if they cannot be made from the other columns
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
        described = 1 if callable(self.dims) else str(self.dims).partition("->")[0].count(",") + 1
        if described not in (1, len(self.inputs)):         # a lone "*" stands for all
            raise TypeError(f"op {self.name}: dims={self.dims!r} describes {described} inputs, "
                            f"it has {len(self.inputs)}")
        self.describe_saved()
        self.refuse_complex()
        OPS[self.name] = self

    def describe_saved(self):
        """Find the values that derivative formulas read (`reads`), and where each is attached to
        the graph (`saved_places`)."""
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
        """Refuse complex numbers if `complex` is not given and formulas read values: only formulas
        that are linear in `g` alone are right for complex numbers as they are."""
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
        """The forward pass as a function on `backend`'s arrays; it returns the kept values too."""
        return (getattr(backend.xp, self.xp_name) if self.xp_name
                else MethodType(self.forward, backend))

    def __repr__(self):
        return f"<op {self.name}>"


def parameters_of(function):
    """The names of a function's parameters. `inspect.signature` is too slow here: it would take
    most of the package's import time."""
    return list(function.__code__.co_varnames[:function.__code__.co_argcount])


def camel_case(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))
