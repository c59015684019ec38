"""`MaskedTensor`: a tensor some of whose elements do not count."""

from ... import Tensor, ones_like
from ...extend import TensorKind, disabled_torch_function, warn, wrap
from .array import require_kind
from .backend import MaskedBackend, backend_of
from .crossing import from_values, mask_in, to_values

__all__ = ["MaskedTensor", "check", "is_masked_tensor", "masked"]

class MaskedTensor(Tensor, metaclass=TensorKind):
    """A tensor and a mask of bools of its shape, True for the elements that count.

    Made by `masked_tensor`, a leaf, or `as_masked_tensor`, through which gradients flow. Functions
    of each element keep the mask; two masked tensors can be used together if their masks are equal.
    Reductions leave out what does not count, and their results are masked where nothing does.
    Results are tensors on a `MaskedBackend`, all of them instances of this class.
    """

    __torch_function__ = disabled_torch_function

    def __new__(cls, data, mask, requires_grad=False):
        check(data, mask)
        if data.requires_grad:
            warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                 "To avoid this, you can use data.detach().clone()")
        return masked(data.detach().clone(), mask.clone()).requires_grad_(requires_grad)

    @property
    def _masked_data(self):
        return self.get_data().detach()

    @property
    def _masked_mask(self):
        return MaskedTensor.get_mask(self)

    def get_data(self):
        """All elements, differentiable."""
        return to_values(self)

    def get_mask(self):
        """The mask: True for the elements that count."""
        mask = mask_in(self)
        return ones_like(to_values(self), dtype=bool) if mask is None else mask

    def to_tensor(self, value):
        """The elements that count, with the number `value` in the place of the others."""
        return to_values(self, value)

    def is_sparse_coo(self):
        """False: the layout is dense."""
        return False


def is_masked_tensor(obj, /):
    """True if an object is a `MaskedTensor`."""
    return isinstance(obj, MaskedTensor)


def masked(data, mask):
    """A MaskedTensor of these very tensors; gradients flow to `data`."""
    mask = wrap(*mask.backend.detached(mask.array))
    return from_values(data, backend_of(data.backend.below), mask)


def rebuild_masked(data, mask, requires_grad):
    """The MaskedTensor that was pickled."""
    return masked(data, mask).requires_grad_(requires_grad)


def parts_of(tensor):
    """A function and its arguments that make a masked tensor again."""
    return rebuild_masked, (tensor._masked_data, tensor.get_mask(), tensor.needs_grad)


def check(data, mask):
    """TypeError or ValueError, as PyTorch raises them, unless these can be data and mask."""
    for name, x in (("data", data), ("mask", mask)):
        if not isinstance(x, Tensor) or isinstance(x, MaskedTensor):
            raise TypeError(f"{name} must be a Tensor, not a MaskedTensor, got {type(x).__name__}")
    if mask.dtype.name != "bool":
        raise TypeError(f"mask must have dtype bool. Got {mask.dtype}: `mask.bool()` makes one")
    require_kind(data.array.dtype)
    if data.ndim != mask.ndim:
        raise ValueError(f"data.dim() must equal mask.dim(), got {data.ndim} and {mask.ndim}")
    if data.shape != mask.shape:
        raise ValueError(f"data.size() must equal mask.size(), got {tuple(data.shape)} and "
                         f"{tuple(mask.shape)}")


# ------------------------------------------------------------------ text
def element(x):
    return f"{x:8.4f}" if isinstance(x, float) else str(x)


def text(data, mask):
    """The elements in nested brackets, ``--`` for those that do not count."""
    if data.ndim > 1:
        rows = [indented(text(x, m)) for x, m in zip(data, mask, strict=True)]
        return "[\n" + ",\n".join(rows) + "\n]"
    cells, counts = [element(x) for x in data.tolist()], mask.tolist()
    width = max([len(c) if m else 8 for c, m in zip(cells, counts, strict=True)], default=0)
    shown = [c if m else "--".rjust(width) for c, m in zip(cells, counts, strict=True)]
    return f"[{', '.join(shown)}]"


def indented(lines):
    return "\n".join(["  " + line for line in lines.split("\n")])


def text_of(tensor):
    """``repr`` of a masked tensor."""
    data, mask = tensor._masked_data, tensor.get_mask()
    if not tensor.ndim:
        return f"MaskedTensor({element(data.item()) if mask.item() else '--'}, {mask.item()})"
    return "MaskedTensor(\n" + indented(text(data, mask)) + "\n)"


MaskedBackend.kind = MaskedTensor
MaskedBackend.text_of, MaskedBackend.parts_of = staticmethod(text_of), staticmethod(parts_of)
