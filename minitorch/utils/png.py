"""PNG files of arrays, with Python's library alone (PNG specification, W3C 2003)."""

import struct
import zlib

__all__ = ["COLOURS", "encode_png"]

COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}     # channels -> colour type: grey, grey and alpha, RGB, RGBA
BY_PALETTE = 3                         # the colour type of one channel that is an index


def encode_png(pixels, palette=None):
    """A uint8 array (H, W, C) with 1 to 4 channels as the bytes of a PNG file.

    With `palette`, a uint8 array (up to 256, 3), the one channel is an index into it.

    >>> import numpy as np
    >>> encode_png(np.zeros((2, 2, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, channels = pixels.shape
    kind = COLOURS[channels] if palette is None else BY_PALETTE
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)   # each begins with its filter: none
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))]
    if palette is not None:
        chunks.append((b"PLTE", palette.tobytes()))
    chunks += [(b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks)
