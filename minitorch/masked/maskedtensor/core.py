"""`MaskedTensor`: a tensor some of whose elements do not count, and the rules of calls on it."""

from ... import Tensor, ones_like, where
from ...answering import (
    differentiate,
    implementation_of,
    is_question,
    name_of,
    ruling,
    written_by,
)
from ...extend import WrappingTensor, inner_of, warn
from ...ops.dims import is_elementwise
from ...utils._pytree import tree_leaves, tree_map

__all__ = ["MaskedTensor", "is_masked_tensor", "rule"]

KINDS = {"float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64"}
RULES: dict = {}                                           # name of a function or method: its rule
rule = ruling(RULES)


class MaskedTensor(WrappingTensor):
    """A tensor and a mask of bools of its shape, True for the elements that count.

    Made by `masked_tensor`, a leaf, or `as_masked_tensor`, through which gradients flow. Functions of each element keep
    the mask; two masked tensors can be used together if their masks are equal. Reductions leave out what does not
    count, and their results are masked where nothing does.
    """

    def __new__(cls, data, mask, requires_grad=False):
        check(data, mask)
        if data.requires_grad:
            warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                 "To avoid this, you can use data.detach().clone()")
        return masked(data.detach().clone(), mask.clone()).requires_grad_(requires_grad)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all([issubclass(cls, t) for t in types]):
            return NotImplemented
        return answer(func, args, kwargs or {})

    def like(self, inner):
        """The same mask around other data."""
        return masked(inner, self._masked_mask)

    def shown(self, gradient):
        """A gradient is masked where the data is, and where a `where` has let none pass."""
        mask = self._masked_mask if self._reached is None else self._masked_mask & self._reached
        return masked(gradient, mask)

    _masked_data = property(lambda self: self._inner, doc="All elements.")

    def get_data(self):
        """All elements, differentiable."""
        return self._inner.view_as(self._inner)

    def get_mask(self):
        """The mask: True for the elements that count."""
        return self._masked_mask

    def to_tensor(self, value):
        """The elements that count, with the number `value` in the place of the others."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def is_sparse_coo(self):
        """False: the layout is dense."""
        return False

    is_sparse_csr = is_sparse_coo                          # type: ignore[assignment]

    shape = property(lambda self: self._inner.shape, doc="The size of each dimension.")
    ndim = property(lambda self: self._inner.ndim, doc="The number of dimensions.")
    layout = property(lambda self: self._inner.layout, doc="That of the data.")

    def item(self):
        """The one element, if it counts; ValueError if it does not."""
        if self.numel() == 1 and not self._masked_mask.item():
            raise ValueError("item(): the element is masked out: expected a mask that is True")
        return self._inner.item()

    def __bool__(self):
        return bool(self.item()) if self.numel() == 1 else super().__bool__()

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __repr__(self, *, tensor_contents=None):
        data, mask = self._inner.detach(), self._masked_mask
        if not self.ndim:
            return f"MaskedTensor({element(data.item()) if mask.item() else '--'}, {mask.item()})"
        return "MaskedTensor(\n" + indented(text(data, mask)) + "\n)"

    def __reduce_ex__(self, protocol):
        return rebuild_masked, (self._inner.detach(), self._masked_mask, self.requires_grad)

    _leaves: tuple = ()                                    # those behind this tensor: see `leaves`

    def leaves(self):
        """The leaves whose gradients have one element for each of this tensor's."""
        return (self,) if self.is_leaf and self.requires_grad else self._leaves


def is_masked_tensor(obj, /):
    """True if an object is a `MaskedTensor`."""
    return isinstance(obj, MaskedTensor)


def masked(data, mask, sources=()):
    """A MaskedTensor of these very tensors; `sources`: the masked tensors that it is computed of element by element."""
    self = object.__new__(MaskedTensor)
    self._inner, self._masked_mask = data, mask
    leaves = [leaf for x in sources if x.shape == data.shape for leaf in x.leaves()]
    if leaves and data.requires_grad:
        self._leaves = tuple({id(leaf): leaf for leaf in leaves}.values())
    return self


def rebuild_masked(data, mask, requires_grad):
    """The MaskedTensor that was pickled."""
    return masked(data, mask).requires_grad_(requires_grad)


def check(data, mask):
    """TypeError or ValueError, as PyTorch raises them, unless these can be data and mask."""
    for name, x in (("data", data), ("mask", mask)):
        if not isinstance(x, Tensor) or isinstance(x, WrappingTensor):
            raise TypeError(f"{name} must be a Tensor, not a MaskedTensor, got {type(x).__name__}")
    if mask.dtype.name != "bool":
        raise TypeError(f"mask must have dtype bool. Got {mask.dtype}: `mask.bool()` makes one")
    if data.dtype.name not in KINDS:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.ndim != mask.ndim:
        raise ValueError(f"data.dim() must equal mask.dim(), got {data.ndim} and {mask.ndim}")
    if data.shape != mask.shape:
        raise ValueError(f"data.size() must equal mask.size(), got {tuple(data.shape)} and {tuple(mask.shape)}")


# ------------------------------------------------------------------ text
def element(x):
    return f"{x:8.4f}" if isinstance(x, float) else str(x)


def text(data, mask):
    """The elements in nested brackets, ``--`` for those that do not count."""
    if data.ndim > 1:
        return "[\n" + ",\n".join([indented(text(x, m)) for x, m in zip(data, mask, strict=True)]) + "\n]"
    cells, counts = [element(x) for x in data.tolist()], mask.tolist()
    width = max([len(c) if m else 8 for c, m in zip(cells, counts, strict=True)], default=0)
    return "[" + ", ".join([c if m else "--".rjust(width) for c, m in zip(cells, counts, strict=True)]) + "]"


def indented(lines):
    return "\n".join(["  " + line for line in lines.split("\n")])


# ------------------------------------------------------------------ rules
def answer(func, args, kwargs):
    """The answer of masked tensors to a call."""
    name = name_of(func)
    if kwargs.get("out") is not None:
        raise TypeError(f"{name}(): MaskedTensors do not support out=")
    if is_question(name, args, kwargs):
        return func(args[0]._inner)
    if name in RULES:
        return RULES[name](func, *args, **kwargs)
    written = written_by(name)
    if written is not None and is_elementwise(written):
        return in_place(func, *args, **kwargs)
    if is_elementwise(func):
        return of_elements(func, *args, **kwargs)
    if (body := implementation_of(func)) is not None:
        try:
            return body(*args, **kwargs)
        except NotImplementedError:
            pass
    raise TypeError(f"{name}() is not supported for MaskedTensors: compute it from get_data(), "
                    f"get_mask() or to_tensor(value)")


def masked_among(*args):
    return [x for x in tree_leaves(args) if isinstance(x, MaskedTensor)]


def one_mask(found):
    """The mask of all of these; ValueError if they differ."""
    first = found[0].get_mask()
    for x in found[1:]:
        mask = x.get_mask()
        if mask is not first and (mask.shape != first.shape or not bool((mask == first).all())):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on "
                             "Github. to_tensor(value) makes a tensor of one")
    return first


@rule("dropout alpha_dropout clone zeros_like ones_like empty_like full_like rand_like randn_like "
      "detach conj prelu")
def of_elements(func, *args, **kwargs):
    """A function that works element by element: on the data, and the mask stays."""
    found = masked_among(args, kwargs)
    mask = one_mask(found)
    result = func(*tree_map(inner_of, args), **tree_map(inner_of, kwargs))
    return tree_map(lambda y: masked(y, mask.expand(y.shape), found) if isinstance(y, Tensor) else y, result)


def in_place(func, target, *args, **kwargs):
    """A method that writes in place, element by element."""
    if not isinstance(target, MaskedTensor):
        raise TypeError(f"{name_of(func)}(): a MaskedTensor cannot be written into a Tensor; to_tensor(value) can")
    one_mask([target, *masked_among(args, kwargs)])
    func(target._inner, *tree_map(inner_of, args), **tree_map(inner_of, kwargs))
    return target


@rule("copy_ zero_ fill_ uniform_ normal_ random_ requires_grad_")
def in_place_by_name(func, target, *args, **kwargs):
    return in_place(func, target, *args, **kwargs)


@rule("__lt__ lt less")
def less(func, input, other):
    """A comparison of tensors with any two masks: the first one's mask stays, as in PyTorch."""
    found = masked_among(input, other)
    return masked(func(inner_of(input), inner_of(other)), found[0].get_mask())


@rule("select transpose swapaxes swapdims t T mT split chunk tensor_split __getitem__ expand expand_as view view_as "
      "reshape flatten unflatten unsqueeze squeeze permute movedim moveaxis narrow unbind unfold cat concat "
      "concatenate stack hstack vstack flip roll repeat tile repeat_interleave index_select gather "
      "contiguous broadcast_to ravel")
def moved(func, *args, **kwargs):
    """A function that moves elements: data and mask are moved alike."""
    result = func(*tree_map(inner_of, args), **tree_map(inner_of, kwargs))
    masks = func(*tree_map(mask_of, args), **tree_map(mask_of, kwargs))
    return tree_map(masked, result, masks)


def mask_of(x):
    return x.get_mask() if isinstance(x, MaskedTensor) else x


@rule("__setitem__")
def setitem(func, target, index, value):
    target._inner[index] = inner_of(value)
    if isinstance(value, MaskedTensor):
        target._masked_mask[index] = value.get_mask()


@rule("to float double half int long short bool char byte cpu cuda type")
def converted(func, input, *args, **kwargs):
    """Another type or device."""
    data = func(input._inner, *args, **kwargs)
    if data is input._inner or not isinstance(data, Tensor):
        return input if isinstance(data, Tensor) else data
    check(data, mask := input.get_mask().to(data.device))
    return masked(data, mask, [input])


@rule("where")
def chosen(func, condition, input=None, other=None):
    """`input` where `condition`, else `other`: data and masks are chosen, and gradients are masked where not chosen."""
    condition = inner_of(condition)
    if not isinstance(condition, Tensor) or input is None:
        return func(inner_of(input), condition, inner_of(other))
    data = [passed(input, condition), passed(other, ~condition)]
    masks = [mask_of(x) if isinstance(x, MaskedTensor) else ones_like(condition) for x in (input, other)]
    return masked(where(condition, *data), where(condition, *masks), masked_among(input, other))


def passed(x, condition):
    """The data of one side of a `where`, whose leaves note that gradients reach them through `condition` only."""
    if not isinstance(x, MaskedTensor):
        return x
    if not (leaves := x.leaves()):
        return x._inner
    view = x.get_data()

    def note(gradient):
        for leaf in leaves:
            leaf._reached = condition if leaf._reached is None else leaf._reached & condition
    view.register_hook(note)
    return view


@rule("is_same_size equal allclose size dim stride numel nelement ndimension is_contiguous new_zeros new_ones "
      "new_empty new_full new_tensor")
def of_data(func, *args, **kwargs):
    """A question about the data."""
    return func(*tree_map(inner_of, args), **tree_map(inner_of, kwargs))


@rule("backward grad")
def differentiated(func, *args, **kwargs):
    return differentiate(func, args, kwargs)


