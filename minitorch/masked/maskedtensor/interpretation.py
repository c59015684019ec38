"""The op calls of masked arrays: what an op makes of masks.

The index notation of an op says it (`labels.mask_class`):

- "combine": element by element. The masks of the inputs have to be equal, and the mask stays.
- "move": elements are moved. The same op moves those of the mask.
- "reduce": elements are combined along some dimensions. What does not count is replaced by what
  changes nothing, and a result is masked where nothing counts.
- "fill": the same, of ops that keep the shape and the mask.

Gradients are in `pulling`.
"""

from ...extend import is_half, worded, wrap
from ...ops.dims import is_elementwise
from ...ops.labels import bind, combined, mask_class
from ..neutral import neutral, require_average
from .array import MaskedArray, masked_array, require_kind

__all__ = ["Call", "agreed", "are_gradients", "each", "stretched"]


def values_of(x):
    return x.values if x.__class__ is MaskedArray else x


def mask_of(x):
    return x.mask if x.__class__ is MaskedArray else None


def each(function, x):
    """A function of an array, or of each in a tuple or list."""
    if x.__class__ in (tuple, list) or hasattr(x, "_fields"):
        return getattr(type(x), "_make", type(x))([each(function, y) for y in x])
    return function(x)


class Call:
    """One call of an op on masked arrays, and what its gradients need to know of it.

    `how` is the class of masks, or a word of a rule below; `by` says how elements are combined,
    `axes` along which dimensions; the result of the op is multiplied by `scale`; `condition` is
    where a `where` has chosen its first input.
    """

    by = scale = condition = None
    axes: tuple = ()
    gradient = False

    def __init__(self, F, op, arrays, attrs):
        self.F, self.op = F, op
        self.attrs = {name: each(values_of, x) for name, x in attrs.items()}   # such as an index
        self.masks = [mask_of(x) for x in arrays]
        self.arrays = arrays

    def computed(self, full):
        """The results; with `full`, all that the op keeps."""
        self.full = full
        try:
            if self.op.name in RULES:
                return RULES[self.op.name](self)
            self.how = self.class_of()
            if self.how is None:
                self.refuse()
            return getattr(self, self.how)()
        finally:
            self.arrays = ()                               # the graph keeps what it needs

    def class_of(self):
        """The class of masks; None if there is none."""
        if is_elementwise(self.op):
            return "combine"
        if self.op.view:
            return "move"
        shapes = [None if x is None else getattr(x, "shape", ()) for x in self.arrays]
        try:
            bound = bind(self.op, shapes, self.attrs)
        except ValueError:
            self.below([values_of(x) for x in self.arrays])    # which raises an error of its own
            return None
        if bound is None:                                  # random numbers, by position; or values
            return "combine" if "place" in self.attrs else None
        along = combined(bound)
        self.by, self.shape = bound.by, bound.out_shapes[0]
        self.casts = bool(bound.whole.intersection(along))
        self.axes = tuple([d for d, x in enumerate(bound.ins[0]) if x in along])
        return mask_class(bound)

    def refuse(self):
        raise worded(TypeError(f"{self.op.name}() is not supported for MaskedTensors: compute it "
                               f"from get_data(), get_mask() or to_tensor(value)"))

    def below(self, arrays, full=None):
        """The results of the op on arrays of the backend below; with `full`, all that it keeps."""
        inner = self.F.inner
        if self.op.promotion and not self.op.native and any(
                [is_half(x.dtype) for x in arrays if isinstance(x, inner.ndarray)]):
            inner = inner.fp32
        name = f"full_{self.op.name}" if (self.full if full is None else full) else self.op.name
        return getattr(inner, name)(*arrays, **self.attrs)

    def masked(self, found, mask):
        """Results of the backend below with a mask, or a function of a result that returns one."""
        def one(y):
            y = self.F.array_of(y)
            own = mask(y) if callable(mask) else mask
            return masked_array(self.F, y, own, self, self.gradient)
        if self.full and self.op.keeps:
            return (each(one, found[0]), *found[1:])
        return each(one, found)

    # -- by class ----------------------------------------------------------------------------------
    def combine(self, mask=None):
        """The mask of all masked inputs, or `mask`."""
        values = [values_of(x) for x in self.arrays]
        if mask is None:
            values, mask = agreed(self.arrays)
        self.gradient = are_gradients(self.arrays)
        return self.masked(self.below(values), lambda y: stretched(self.F, mask, y.shape))

    def move(self):
        """Numbers and unmasked arrays count. An index cannot be masked."""
        kinds = [self.op.inputs[0]] * len(self.arrays) if self.op.variadic else self.op.inputs
        ones, masks = self.F.inner.xp.ones, []
        for x, kind in zip(self.arrays, kinds):
            if x is None or kind.kind == "other":
                if mask_of(x) is not None and self.how != "where":
                    self.refuse()
                masks.append(values_of(x))
            else:
                masks.append(ones(getattr(x, "shape", ()), bool) if mask_of(x) is None else x.mask)
        found = self.below([values_of(x) for x in self.arrays])
        each(lambda y: require_kind(y.dtype), found)
        if all([m is None for m in self.masks]):
            return self.masked(found, None)
        moved = iter(flat(self.below(masks, full=False)))
        return self.masked(found, lambda y: self.F.array_of(next(moved)))

    def reduce(self):
        x, F = self.arrays[0], self.F
        values, mask = x.values, x.mask
        if mask is None:
            return self.masked(self.below([values]), None)
        xp = F.inner.xp
        truth = self.op.promotion is None and self.by in ("max", "min") and self.below(
            [xp.ones((1,) * x.ndim, "float32")]).dtype.kind == "b"
        if self.by == "avg":
            require_average(wrap(values, F.inner).dtype)
            self.below([xp.ones((1,) * x.ndim, values.dtype)])   # which checks the dimensions
            self.counts(mask)
            total = F.inner.sum(self.filled(F.inner, values), dim=self.axes or None)
            total = xp.asarray(total).reshape(self.shape)
            found = total / self.number.astype(total.dtype)
        elif truth:                                        # of whether elements are zero
            found = self.below([fill_in(F.inner, mask, values != 0, self.by == "min")])
        else:
            found = self.scaled(self.cast(self.below([self.filled(F.inner, values)]), values))
        return self.masked(found, mask.any(self.axes).reshape(self.shape))

    def fill(self):
        x = self.arrays[0]
        if x.mask is None:
            return self.masked(self.below([x.values]), None)
        found = self.below([self.filled(self.F.inner, x.values)])
        return self.masked(self.cast(found, x.values), x.mask)

    # -- what does not count -----------------------------------------------------------------------
    def cast(self, found, values):
        """As in PyTorch, ops that need a dimension whole return the dtype of their input."""
        def one(y):
            return y if y.dtype == values.dtype else y.astype(values.dtype)
        stays = not self.casts or self.op.outputs != 1 or self.attrs.get("dtype") is not None
        return found if stays else each(one, found)

    def counts(self, mask, less=0):
        """Note how many elements of all are combined to each result, `less` degrees of freedom."""
        self.number = mask.sum(self.axes).reshape(self.shape)
        every = mask.size // max(self.number.size, 1)
        self.scale = (every - less) / (self.number - less).clip(0)

    def scaled(self, y):
        return y if self.scale is None else y * self.scale.astype(y.dtype)

    def filled(self, ns, x):
        """`x` with what changes nothing in place of what does not count; `ns`: the ops on `x`."""
        return fill_in(ns, self.masks[0], x, self.nothing(ns, x))

    def nothing(self, ns, x):
        if self.by == "mean":
            return mean_of(self, ns, x)
        return neutral(self.by, getattr(x, "array", x).dtype, self.op.name)


def flat(x):
    return [z for y in x for z in flat(y)] if x.__class__ in (tuple, list) else [x]


def fill_in(ns, mask, x, number):
    """`x` with a number, or values, in the place of what the mask leaves out."""
    if mask is None:
        return x
    return ns.where(beside(mask, x), x, number)


def beside(array, x):
    """An array of the backend below, as a tensor if `x` is one."""
    return wrap(array, x.backend.below) if hasattr(x, "needs_grad") else array


def are_gradients(arrays):
    """True if some of these are masked, and all of those are gradients."""
    found = [x.gradient for x in arrays if mask_of(x) is not None]
    return bool(found) and all(found)


def agreed(arrays):
    """The values of arrays that are used together, and the mask of the masked ones among them.

    Of gradients those elements count that do in one of them. ValueError if other masks differ.
    """
    found = [x for x in arrays if mask_of(x) is not None]
    if not found:
        return [values_of(x) for x in arrays], None
    mask = found[0].mask
    if all([x.mask is mask or x.mask.shape == mask.shape and bool((x.mask == mask).all())
            for x in found]):
        return [values_of(x) for x in arrays], mask
    if not are_gradients(found) or len({x.shape for x in found}) > 1:
        raise worded(ValueError("Input masks must match. If you need support for this, please open "
                                "an issue on Github. to_tensor(value) makes a tensor of one"))
    for x in found[1:]:
        mask = mask | x.mask
    return [x.filled(0) if mask_of(x) is not None else values_of(x) for x in arrays], mask


def stretched(F, mask, shape):
    """A mask broadcast to a shape."""
    if mask is None or mask.shape == shape:
        return mask
    return F.inner.xp.array(F.inner.xp.broadcast_to(mask, shape))


# ---- rules by name -------------------------------------------------------------------------------
RULES: dict = {}                                           # name of an op: its rule


def rule(*names):
    """The decorator of the rule of these ops, which says why no class is theirs."""
    def enter(function):
        RULES.update(dict.fromkeys(names, function))
        return function
    return enter


@rule("where")
def where(call):
    """It chooses by values, so that its notation cannot say that elements are moved: masks are
    chosen, too, and a gradient does not count where it does not pass."""
    call.how, call.condition = "where", values_of(call.arrays[0]) != 0   # which may be of uint8
    return call.move()


@rule("lt")
def less(call):
    """As in PyTorch, whose other comparisons want equal masks, the first mask stays."""
    call.how = "combine"
    return call.combine(next((m for m in call.masks if m is not None), None))


@rule("var", "std")
def spread(call):
    """The neutral value of a variance is the mean, and it counts degrees of freedom."""
    x, attrs = call.arrays[0], call.attrs
    if attrs["dim"].__class__ is bool:                     # ``x.var(True)``: `unbiased`
        call.attrs = attrs = {**attrs, "dim": None, "unbiased": attrs["dim"]}
    less = attrs["correction"]
    if less is None:
        less = 1 if attrs["unbiased"] is None else int(attrs["unbiased"])
    if x.dtype.kind in "biu":
        x = x.astype("float32")
    call.class_of()
    call.how, call.by = "reduce", "mean"
    if x.mask is None:
        return call.masked(call.below([x.values]), None)
    call.counts(x.mask, less)
    if call.op.name == "std":
        call.scale = call.scale ** 0.5
    found = call.scaled(call.below([call.filled(call.F.inner, x.values)]))
    return call.masked(found, x.mask.any(call.axes).reshape(call.shape))


def mean_of(call, ns, x):
    """The mean of the elements of `x` that count, along the call's dimensions."""
    mask = call.masks[0]
    total = ns.sum(fill_in(ns, mask, x, 0), dim=call.axes or None, keepdim=True)
    number = mask.sum(call.axes, keepdims=True).clip(1).astype(getattr(total, "array", total).dtype)
    return total / beside(number, x)


@rule("index", "index_put")
def by_value(call):
    """An index may be a mask, whose values say how many elements there are. What is written there
    brings its mask, if it has one."""
    call.how = "put" if len(call.masks) > 1 else "move"
    if call.how == "put" and call.masks[1] is None:
        return call.combine(call.masks[0])
    return call.move()
