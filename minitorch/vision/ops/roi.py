"""Regions of interest: boxes in batches of feature maps, pooled to one size.

Pooling by means is a product with a matrix of weights along rows and one along columns, so that each function says only
what these weights are. Gradients are those for the feature maps; boxes get none, as in torchvision.
"""

from ... import Tensor, arange, cat, einsum, nn, stack
from ...nn.modules.utils import _pair

__all__ = ["PSRoIAlign", "PSRoIPool", "RoIAlign", "RoIPool", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"]


def listed(boxes):
    """Boxes as one tensor (K, 5), the number of the image first. AssertionError for other shapes."""
    if isinstance(boxes, (list, tuple)):
        if any(b.ndim != 2 or b.shape[1] != 4 for b in boxes):
            raise AssertionError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
        return cat([cat([b.new_full((len(b), 1), i), b], 1) for i, b in enumerate(boxes)])
    if not isinstance(boxes, Tensor) or boxes.ndim != 2 or boxes.shape[1] != 5:
        raise AssertionError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[L, 4]]")
    return boxes


def sampled(start, size, bins, sampling_ratio, length):
    """The weights (K, bins, length) of pixels in the mean of samples: `sampling_ratio` in each bin, or as many as
    pixels, each interpolated between two pixels."""
    step = size / bins
    count = step.new_full(step.shape, sampling_ratio) if sampling_ratio > 0 else step.ceil().clamp(min=1)
    most = int(count.max()) if len(count) else 1
    number = arange(most, device=start.device, dtype=start.dtype)
    places = ((arange(bins, device=start.device, dtype=start.dtype)[None, :, None]
               + (number + 0.5) / count[:, None, None]) * step[:, None, None] + start[:, None, None])
    used = (number < count[:, None, None]) & (places >= -1) & (places <= length)
    places = places.clamp(0, length - 1)
    pixels = arange(length, device=start.device, dtype=start.dtype)
    near = (1 - (places[..., None] - pixels).abs()).clamp(min=0) * used[..., None]
    return near.sum(2) / count[:, None, None]


def weighted(input, rois, rows, columns):
    """(K, C, bins, bins): ``rows @ image @ columns^T`` for each box's image."""
    images = input[rois[:, 0].long()]
    return einsum("kih,kchw,kjw->kcij", rows.to(input.dtype), images, columns.to(input.dtype))


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    """Means of interpolated samples in each bin of each box: maps (N, C, H, W) and boxes to (K, C, *output_size).

    `boxes`: (K, 5) with the number of the image first, or a list of (L, 4) for each image; `spatial_scale` maps their
    coordinates to those of the feature maps; `sampling_ratio` samples per bin and axis, one for each pixel if not
    positive; `aligned` shifts by half a pixel, so that pixels are squares around their places. K. He et al., "Mask
    R-CNN" (2017).
    """
    rois, (height, width) = listed(boxes).detach(), _pair(output_size)
    x1, y1, x2, y2 = ((rois[:, 1:].float() if rois.element_size() < 4 else rois[:, 1:]) * spatial_scale
                      - (0.5 if aligned else 0.0)).unbind(1)
    w, h = x2 - x1, y2 - y1
    if not aligned:
        w, h = w.clamp(min=1.0), h.clamp(min=1.0)
    return weighted(input, rois, sampled(y1, h, height, sampling_ratio, input.shape[2]),
                    sampled(x1, w, width, sampling_ratio, input.shape[3]))


def position_sensitive(pooled):
    """(K, C * h * w, h, w) to (K, C, h, w): each bin takes its own channels."""
    k, channels, h, w = pooled.shape
    if channels % (h * w):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return pooled.reshape(k, -1, h, w, h, w).diagonal(0, 2, 4).diagonal(0, 2, 3)


def ps_roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1):
    """`roi_align` whose bins have channels of their own: (N, C * h * w, H, W) to (K, C, h, w)."""
    rois, (height, width) = listed(boxes).detach(), _pair(output_size)
    x1, y1, x2, y2 = (rois[:, 1:] * spatial_scale - 0.5).unbind(1)
    return position_sensitive(weighted(input, rois, sampled(y1, y2 - y1, height, sampling_ratio, input.shape[2]),
                                       sampled(x1, x2 - x1, width, sampling_ratio, input.shape[3])))


def bounds(start, size, bins, length):
    """The first pixel of each bin, and the first behind it: two (K, bins)."""
    step, number = size / bins, arange(bins, device=start.device, dtype=start.dtype)
    low = (number * step[:, None]).floor() + start[:, None]
    high = ((number + 1) * step[:, None]).ceil() + start[:, None]
    return low.clamp(0, length), high.clamp(0, length)


def rounded(x):
    """The nearest whole number, halves away from zero."""
    return x.sign() * (x.abs() + 0.5).floor()


def roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """Largest values in each bin of each box, whose borders are rounded to pixels; 0 for empty bins: (N, C, H, W) to
    (K, C, *output_size). R. Girshick, "Fast R-CNN" (2015)."""
    rois, (height, width) = listed(boxes).detach(), _pair(output_size)
    x1, y1, x2, y2 = rounded(rois[:, 1:] * spatial_scale).unbind(1)
    rows = bounds(y1, (y2 - y1 + 1).clamp(min=1), height, input.shape[2])
    columns = bounds(x1, (x2 - x1 + 1).clamp(min=1), width, input.shape[3])
    pooled = [pool_one(input[int(number)], *[[x[k].long().tolist() for x in ends] for ends in (rows, columns)])
              for k, number in enumerate(rois[:, 0])]
    return stack(pooled) if pooled else input.new_zeros((0, input.shape[1], height, width))


def pool_one(image, rows, columns):
    """The bins (C, h, w) of one box of an image (C, H, W)."""
    empty = image.new_zeros(image.shape[0])
    return stack([stack([image[:, top:bottom, left:right].flatten(1).max(1).values
                         if bottom > top and right > left else empty for left, right in zip(*columns)], 1)
                  for top, bottom in zip(*rows)], 1)


def ps_roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """Means in each bin of each box, whose borders are rounded to pixels, with channels for each bin: (N, C * h * w, H,
    W) to (K, C, h, w). J. Dai et al., "R-FCN" (2016)."""
    rois, (height, width) = listed(boxes).detach(), _pair(output_size)
    x1, y1, x2, y2 = rounded(rois[:, 1:] * spatial_scale).unbind(1)

    def means(start, size, bins, length):
        low, high = bounds(start, size.clamp(min=1), bins, length)
        low, high = low.clamp(max=length - 1), high.clamp(max=length - 1)
        pixels = arange(length, device=start.device, dtype=start.dtype)
        inside = ((pixels >= low[..., None]) & (pixels < high[..., None])).to(start.dtype)
        return inside / inside.sum(-1, keepdim=True).clamp(min=1)
    return position_sensitive(weighted(input, rois, means(y1, y2 - y1, height, input.shape[2]),
                                       means(x1, x2 - x1, width, input.shape[3])))


class RoIAlign(nn.Module):
    """`roi_align` as a layer."""

    def __init__(self, output_size, spatial_scale, sampling_ratio, aligned=False):
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input, rois):
        """The pooled boxes."""
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)

    def __repr__(self):
        return (f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
                f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned})")


class PSRoIAlign(nn.Module):
    """`ps_roi_align` as a layer."""

    def __init__(self, output_size, spatial_scale, sampling_ratio):
        super().__init__()
        self.output_size, self.spatial_scale, self.sampling_ratio = output_size, spatial_scale, sampling_ratio

    def forward(self, input, rois):
        """The pooled boxes."""
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)

    def __repr__(self):
        return (f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
                f"sampling_ratio={self.sampling_ratio})")


class RoIPool(nn.Module):
    """`roi_pool` as a layer."""

    pool = staticmethod(roi_pool)

    def __init__(self, output_size, spatial_scale):
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input, rois):
        """The pooled boxes."""
        return self.pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self):
        return f"{type(self).__name__}(output_size={self.output_size}, spatial_scale={self.spatial_scale})"


class PSRoIPool(RoIPool):
    """`ps_roi_pool` as a layer."""

    pool = staticmethod(ps_roi_pool)
