"""``torchvision.io``: pictures in files as uint8 tensors (channels, height, width), by Pillow. There is no video."""

import io
from enum import Enum

import numpy as np

from .. import tensor, uint8
from ..transforms.functional.kinds import to_pil_image

__all__ = ["ImageReadMode", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png", "read_file",
           "read_image", "write_file", "write_jpeg", "write_png"]


class ImageReadMode(Enum):
    """The channels that a picture is read with: those of the file, or grey, with transparency or not, or colours."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA


PILLOW = {ImageReadMode.GRAY: "L", ImageReadMode.GRAY_ALPHA: "LA", ImageReadMode.RGB: "RGB",
          ImageReadMode.RGB_ALPHA: "RGBA"}                 # its names of modes


def pillow():
    try:
        from PIL import Image
    except ImportError:
        raise RuntimeError("reading and writing pictures needs Pillow, which is not installed: "
                           "`pip install pillow`") from None
    return Image


def read_file(path):
    """The bytes of a file, a uint8 tensor of one dimension."""
    with open(path, "rb") as file:
        return tensor(np.frombuffer(file.read(), np.uint8).copy())


def write_file(filename, data):
    """Write a uint8 tensor of one dimension as the bytes of a file."""
    check_bytes(data)
    with open(filename, "wb") as file:
        file.write(data.numpy().tobytes())


def check_bytes(x, dims=1):
    if x.dtype is not uint8 or x.dim() != dims:
        raise RuntimeError(f"expected a uint8 tensor of {dims} dimension{'s' * (dims > 1)}, got {x.dtype} and shape "
                           f"{tuple(x.shape)}")


def decode_image(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """The picture in the bytes `input` (a tensor, or the path of a file): uint8, (channels, height, width).

    RuntimeError for what Pillow cannot read. `apply_exif_orientation` turns it as the camera was held.
    """
    input = input if hasattr(input, "numpy") else read_file(input)
    check_bytes(input)
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    Image = pillow()
    try:
        with Image.open(io.BytesIO(input.numpy().tobytes())) as picture:
            if apply_exif_orientation:
                from PIL import ImageOps
                picture = ImageOps.exif_transpose(picture)
            if mode is not ImageReadMode.UNCHANGED:
                picture = picture.convert(PILLOW[mode])
            elif picture.mode in ("P", "1"):
                picture = picture.convert("RGB" if picture.mode == "P" else "L")
            pixels = np.array(picture)
    except (OSError, SyntaxError, ValueError) as error:
        raise RuntimeError(f"the bytes are not a picture that Pillow can read: {error}") from None
    return tensor(np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1)))


decode_png = decode_image


def decode_jpeg(input, mode=ImageReadMode.UNCHANGED, device="cpu", apply_exif_orientation=False):
    """`decode_image`, moved to `device`; a list of tensors gives a list."""
    if isinstance(input, (list, tuple)):
        return [decode_jpeg(x, mode, device, apply_exif_orientation) for x in input]
    return decode_image(input, mode, apply_exif_orientation).to(device)


def read_image(path, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """The picture in a file: uint8, (channels, height, width)."""
    return decode_image(read_file(path), mode, apply_exif_orientation)


def encoded(input, format, **options):
    check_bytes(input, 3)
    pillow()
    stream = io.BytesIO()
    to_pil_image(input.cpu()).save(stream, format, **options)
    return tensor(np.frombuffer(stream.getvalue(), np.uint8).copy())


def encode_png(input, compression_level=6):
    """The bytes of a PNG file with the picture `input`, uint8 (1 or 3, height, width)."""
    return encoded(input, "PNG", compress_level=compression_level)


def encode_jpeg(input, quality=75):
    """The bytes of a JPEG file with the picture `input`, uint8 (1 or 3, height, width)."""
    return encoded(input, "JPEG", quality=quality)


def write_png(input, filename, compression_level=6):
    """Write a picture as a PNG file."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input, filename, quality=75):
    """Write a picture as a JPEG file."""
    write_file(filename, encode_jpeg(input, quality))
