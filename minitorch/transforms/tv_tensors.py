"""Tensors that say what they are, as in ``torchvision.tv_tensors``: `v2` transforms each as its kind asks for.

Operations on them give plain tensors, but for ``clone``, ``to``, ``detach``, ``requires_grad_`` and writes in place.
"""

import enum
from typing import Any

from .. import DisableTorchFunctionSubclass, Tensor, as_tensor
from .functional.kinds import is_pil, pil_to_tensor

__all__ = ["BoundingBoxFormat", "BoundingBoxes", "Image", "KeyPoints", "Mask", "TVTensor", "Video", "wrap"]

KEPT = ("clone", "to", "detach", "requires_grad_")


class TVTensor(Tensor):
    """The base of the kinds."""

    def __new__(cls, data: Any, *, dtype=None, device=None, requires_grad: bool | None = None) -> Any:
        return cls.marked(read(data, dtype, device, requires_grad))

    @classmethod
    def marked(cls, data: Tensor, **about: Any) -> Any:
        """A tensor as one of this kind."""
        return data.as_subclass(cls)

    @classmethod
    def wrap(cls, tensor: Tensor, like: Any, **about: Any) -> Any:
        """A tensor as one of this kind, with whatever `like` says about itself."""
        return cls.marked(tensor, **{**like.about(), **about})

    def about(self) -> dict[str, Any]:
        """The keyword arguments that describe this tensor."""
        return {}

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", None) in KEPT and isinstance(args[0], cls):
            return result if result is args[0] else cls.wrap(result, like=args[0])
        own = isinstance(result, TVTensor) and not any(result is x for x in args)
        return result.as_subclass(Tensor) if own else result

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        about = "".join(f", {name}={value}" for name, value in self.about().items())
        return f"{type(self).__name__}({str(self.as_subclass(Tensor))[7:-1]}{about})"

    def __deepcopy__(self, memo: dict) -> Any:
        copy = self.detach().clone().requires_grad_(self.requires_grad)
        memo[id(self)] = copy
        return copy


def read(data: Any, dtype: Any, device: Any, requires_grad: bool | None) -> Tensor:
    """A plain tensor of what is given; floats and `requires_grad` are kept from a tensor."""
    given = data.requires_grad if isinstance(data, Tensor) and requires_grad is None else bool(requires_grad)
    return as_tensor(data, dtype=dtype, device=device).requires_grad_(given)


class Image(TVTensor):
    """Images (..., C, H, W); a PIL image and (H, W) are taken, too."""

    def __new__(cls, data: Any, *, dtype=None, device=None, requires_grad: bool | None = None) -> Any:
        found = read(pil_to_tensor(data) if is_pil(data) else data, dtype, device, requires_grad)
        if found.ndim < 2:
            raise ValueError(f"Image: expected (..., C, H, W) or (H, W), got shape {tuple(found.shape)}")
        return cls.marked(found.unsqueeze(0) if found.ndim == 2 else found)


class Mask(TVTensor):
    """Segmentation masks (..., H, W): never interpolated, colors leave them alone; PIL images are taken, too."""

    def __new__(cls, data: Any, *, dtype=None, device=None, requires_grad: bool | None = None) -> Any:
        return cls.marked(read(pil_to_tensor(data) if is_pil(data) else data, dtype, device, requires_grad))


class Video(TVTensor):
    """Videos (..., T, C, H, W): all frames get the same transform."""

    def __new__(cls, data: Any, *, dtype=None, device=None, requires_grad: bool | None = None) -> Any:
        found = read(data, dtype, device, requires_grad)
        if found.ndim < 4:
            raise ValueError(f"Video: expected (..., T, C, H, W), got shape {tuple(found.shape)}")
        return cls.marked(found)


class BoundingBoxFormat(enum.Enum):
    """The four numbers of a box: two corners, a corner with width and height, or the center with them."""

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"


class Places(TVTensor):
    """The base of kinds that say where something is in an image of (height, width) `canvas_size`, in pixels."""

    canvas_size: tuple[int, int]
    clamping_mode: str | None

    @classmethod
    def marked(cls, data: Tensor, **about: Any) -> Any:
        if about["clamping_mode"] not in (None, "hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {about['clamping_mode']}.")
        found = data.as_subclass(cls)
        for name, value in about.items():
            setattr(found, name, tuple(value) if name == "canvas_size" else value)
        return found

    def about(self) -> dict[str, Any]:
        return {"canvas_size": self.canvas_size, "clamping_mode": self.clamping_mode}


class BoundingBoxes(Places):
    """Boxes (N, 4) in one of the formats of `BoundingBoxFormat`.

    clamping_mode: "soft" or "hard" (transforms cut off what lies beyond the image), or None.
    """

    format: BoundingBoxFormat

    def __new__(cls, data: Any, *, format: BoundingBoxFormat | str, canvas_size: tuple[int, int],  # type: ignore[misc]
                clamping_mode: str | None = "soft", dtype=None, device=None, requires_grad: bool | None = None) -> Any:
        return cls.marked(read(data, dtype, device, requires_grad), format=format, canvas_size=canvas_size,
                          clamping_mode=clamping_mode)

    @classmethod
    def marked(cls, data: Tensor, **about: Any) -> Any:
        if isinstance(about["format"], str):
            names = [member.name for member in BoundingBoxFormat]
            if about["format"].upper() not in names:
                raise ValueError(f"format should be one of {names}, got {about['format']!r} "
                                 f"(rotated boxes are not supported)")
            about["format"] = BoundingBoxFormat[about["format"].upper()]
        data = data.unsqueeze(0) if data.ndim == 1 else data
        if data.ndim != 2 or data.shape[1] != 4:
            raise ValueError(f"Expected boxes of shape (N, 4), got {tuple(data.shape)}")
        return super().marked(data, **about)

    def about(self) -> dict[str, Any]:
        return {"format": self.format, **super().about()}


class KeyPoints(Places):
    """Points (..., 2): x and y."""

    def __new__(cls, data: Any, *, canvas_size: tuple[int, int], clamping_mode: str | None = "soft",  # type: ignore[misc]
                dtype=None, device=None, requires_grad: bool | None = None) -> Any:
        found = read(data, dtype, device, requires_grad)
        if found.shape[-1:] != (2,):
            raise ValueError(f"Expected points of shape (..., 2), got {tuple(found.shape)}")
        return cls.marked(found, canvas_size=canvas_size, clamping_mode=clamping_mode)


def wrap(wrappee: Tensor, *, like: TVTensor, **about: Any) -> Any:
    """A tensor as one of the kind of `like`, with its metadata, unless that is given in `about`."""
    return type(like).wrap(wrappee, like, **about)
