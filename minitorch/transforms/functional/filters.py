"""Filters of neighbouring pixels, and noise. A PIL image is turned into a tensor and back, but for sharpness."""

from collections.abc import Callable, Sequence
from typing import Any

from ... import Tensor, float32, linspace, randn_like, tensor
from ...nn.functional import conv2d, pad
from .color import adjusted, brightest
from .kinds import accepts_arrays, both, is_pil, pil_to_tensor, to_pil_image


def on_planes(img: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """A function of floats (N, C, H, W) on an image (..., C, H, W); integers are rounded on the way back."""
    exact = img if img.is_floating_point() else img.to(float32)
    result = function(exact.reshape(-1, *img.shape[-3:]))
    result = result.reshape(*img.shape[:-2], *result.shape[-2:])
    return result if exact is img else result.round().to(img.dtype)


def on_pixels(function: Callable) -> Callable:
    """Let a function of tensors take PIL images, too."""
    def wrapper(img: Any, *args: Any) -> Any:
        return to_pil_image(function(pil_to_tensor(img), *args), img.mode) if is_pil(img) else function(img, *args)
    return wrapper


def weighted(img: Tensor, kernel: Tensor) -> Tensor:
    """Each plane of (N, C, H, W) convolved with one kernel (h, w), without a border."""
    return conv2d(img, kernel.expand(img.shape[-3], 1, *kernel.shape), groups=img.shape[-3])


@accepts_arrays
def gaussian_blur(img: Any, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None) -> Any:
    """Each pixel averaged with its neighbours by the normal density of their distance.

    kernel_size: (width, height) of the neighbourhood in pixels, odd. sigma: the standard deviations of the density in
    pixels, ``0.3 * ((kernel_size - 1) / 2 - 1) + 0.8`` by default. ValueError for even sizes and sigmas that are not
    positive. The border reflects the image.
    """
    across, down = sizes = both(kernel_size, "kernel_size", int)
    for size in sizes:
        if size % 2 == 0 or size < 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {list(sizes)}")
    sigmas = [k * 0.15 + 0.35 for k in sizes] if sigma is None else both(sigma, "sigma", float)
    for value in sigmas:
        if value <= 0.0:
            raise ValueError(f"sigma should have positive values. Got {sigmas}")

    def blur(planes):
        rows, columns = (density(k, s).to(planes) for k, s in zip(sizes, sigmas, strict=True))
        planes = pad(planes, [across // 2, across // 2, down // 2, down // 2], mode="reflect")
        return weighted(planes, columns[:, None] * rows)
    return on_pixels(lambda pixels: on_planes(pixels, blur))(img)


def density(size: int, sigma: float) -> Tensor:
    """The normal density at `size` pixels around 0, scaled to sum to one."""
    values = (-0.5 * (linspace(-(size - 1) * 0.5, (size - 1) * 0.5, size) / sigma) ** 2).exp()
    return values / values.sum()


@accepts_arrays
def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """The distance from a smoothed image times a factor: 0 is smoothed, 1 the image itself, 2 sharper."""
    if not is_pil(img) and min(img.shape[-2:]) <= 2:       # all border
        return img
    return adjusted(img, "sharpness_factor", sharpness_factor, "Sharpness", smoothed)


def smoothed(img: Tensor) -> Tensor:
    """An image whose inner pixels are averaged with their neighbours: 5 parts of 13 are their own."""
    kernel = tensor([[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]]) / 13.0
    smooth = img.clone()
    smooth[..., 1:-1, 1:-1] = on_planes(img, lambda planes: weighted(planes, kernel.to(planes)))
    return smooth


def gaussian_noise(image: Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Tensor:
    """Normal noise added to a float image, clipped to 0 ... 1 by default. ValueError for other dtypes."""
    if not image.is_floating_point():
        raise ValueError(f"Input tensor is expected to be in float dtype. Got dtype={image.dtype}")
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    noisy = image + mean + randn_like(image) * sigma
    return noisy.clamp(0, brightest(image)) if clip else noisy
