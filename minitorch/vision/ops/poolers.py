"""Pooling of boxes from that level of a feature pyramid which fits their size."""

import math

from ... import cat, nonzero
from ...nn import Module
from ...nn.modules.utils import _pair
from .boxes import box_area
from .roi import roi_align

__all__ = ["MultiScaleRoIAlign"]


class MultiScaleRoIAlign(Module):
    """`roi_align` of each box from one of the maps `featmap_names`.

    A box of `canonical_scale` pixels squared (224) is taken from level `canonical_level` (4, which is 1 / 16 of the
    image's size), one of half the side from the level below. T.-Y. Lin et al. (2016), equation 1.
    """

    def __init__(self, featmap_names, output_size, sampling_ratio, *, canonical_scale=224, canonical_level=4):
        super().__init__()
        self.featmap_names, self.sampling_ratio = featmap_names, sampling_ratio
        self.output_size = _pair(output_size)
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level
        self.scales = None

    def forward(self, x, boxes, image_shapes):
        """Pooled boxes (K, C, *output_size): `x` maps by name, `boxes` a list of (L, 4) for each image, in pixels of
        images of `image_shapes`."""
        maps = [features for name, features in x.items() if name in self.featmap_names]
        if not maps:
            raise ValueError(f"expected one of the maps {self.featmap_names}, got {list(x)}")
        largest = [max(shape[i] for shape in image_shapes) for i in (0, 1)]
        self.scales = [2.0 ** round(math.log2(m.shape[-2] / largest[0])) for m in maps]
        rois = cat([cat([b.new_full((len(b), 1), i), b], 1) for i, b in enumerate(boxes)])
        first, last = -math.log2(self.scales[0]), -math.log2(self.scales[-1])
        side = cat([box_area(b) for b in boxes]).sqrt()
        level = (self.canonical_level + (side / self.canonical_scale).log2() + 1e-6).floor()
        level = (level.clamp(first, last) - first).long()
        out = maps[0].new_zeros((len(rois), maps[0].shape[1], *self.output_size))
        for i, (features, scale) in enumerate(zip(maps, self.scales)):
            places = nonzero(level == i).flatten()
            out = out.index_copy(0, places, roi_align(features, rois[places], self.output_size, scale,
                                                      self.sampling_ratio).to(out.dtype))
        return out

    def __repr__(self):
        return (f"{type(self).__name__}(featmap_names={self.featmap_names}, output_size={self.output_size}, "
                f"sampling_ratio={self.sampling_ratio})")
