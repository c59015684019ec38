"""The transforms of colors and tones, on samples: masks, boxes and points are left alone."""

from .. import colors
from .transform import OfImages


class Grayscale(OfImages, colors.Grayscale):
    """The luminance of an RGB image, in 1 channel or repeated in 3."""


class RandomGrayscale(OfImages, colors.RandomGrayscale):
    """The luminance in as many channels as the image has, with probability ``p``."""


class ColorJitter(OfImages, colors.ColorJitter):
    """Brightness, contrast, saturation and hue changed by random factors, in random order."""


class GaussianBlur(OfImages, colors.GaussianBlur):
    """Blurring by the normal density."""


class RandomInvert(OfImages, colors.RandomInvert):
    """The negative, with probability ``p``."""


class RandomAutocontrast(OfImages, colors.RandomAutocontrast):
    """Each channel stretched over the whole range, with probability ``p``."""


class RandomEqualize(OfImages, colors.RandomEqualize):
    """Values of each channel spread evenly, with probability ``p``."""


class RandomPosterize(OfImages, colors.RandomPosterize):
    """The upper ``bits`` bits of each value, with probability ``p``."""


class RandomSolarize(OfImages, colors.RandomSolarize):
    """Values from ``threshold`` on inverted, with probability ``p``."""


class RandomAdjustSharpness(OfImages, colors.RandomAdjustSharpness):
    """Sharpness changed by ``sharpness_factor``, with probability ``p``."""
