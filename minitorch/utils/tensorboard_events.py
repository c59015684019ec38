"""The messages of the package ``tensorboard``, and values as they hold them."""

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.dtypes import bfloat16
from ..core.tensor import Tensor

__all__ = ["array_of", "metadata_of", "package", "pixels_of"]


@functools.cache
def package():
    """The parts of the package tensorboard that are used here."""
    try:
        from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise ModuleNotFoundError("SummaryWriter writes its files with the package tensorboard, which is not "
                                  f"installed: pip install tensorboard ({error})", name="tensorboard") from error
    return SimpleNamespace(event=event_pb2, summary=summary_pb2, tensor=tensor_pb2, shape=tensor_shape_pb2,
                           EventFileWriter=EventFileWriter)


def metadata_of(plugin: str, content: bytes = b""):
    """Which of TensorBoard's plugins shows a tensor."""
    kind = package().summary.SummaryMetadata
    return kind(plugin_data=kind.PluginData(plugin_name=plugin, content=content))


def array_of(value: Any) -> np.ndarray:
    """A tensor, an array or numbers as an array; bfloat16 as float32."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = value.float() if value.dtype == bfloat16 else value
        return value.numpy()
    return np.asarray(value)


def pixels_of(image: np.ndarray, dataformats: str) -> np.ndarray:
    """A picture as uint8 (H, W, C)."""
    axes = dataformats.upper()
    if sorted(axes) not in (["C", "H", "W"], ["H", "W"]) or image.ndim != len(axes):
        raise ValueError(f"a picture of shape {image.shape} does not go with dataformats={dataformats!r}")
    image = image.transpose([axes.index(axis) for axis in "HWC" if axis in axes])
    image = image[:, :, None] if image.ndim == 2 else image
    if image.shape[2] not in (1, 2, 3, 4):
        raise ValueError(f"a picture has 1 to 4 channels, got {image.shape[2]} with dataformats={dataformats!r}")
    if image.dtype != np.uint8:
        image = (image.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    return np.repeat(image, 3, 2) if image.shape[2] == 1 else image
