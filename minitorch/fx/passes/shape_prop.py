"""Shapes, dtypes and strides of all values of a graph, found by running it."""

from typing import NamedTuple

from ... import Tensor, channels_last, channels_last_3d, contiguous_format
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """All of a tensor but its values."""

    shape: tuple
    dtype: object
    requires_grad: bool
    stride: tuple
    memory_format: object
    is_quantized: bool
    qparams: dict


def metadata(x):
    """The `TensorMetadata` of a tensor."""
    formats = [f for f in (contiguous_format, channels_last, channels_last_3d)
               if (f is contiguous_format or x.ndim == (4 if f is channels_last else 5))
               and x.is_contiguous(memory_format=f)]
    return TensorMetadata(x.shape, x.dtype, x.requires_grad, x.stride(), formats[0] if formats else None, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and writes the `TensorMetadata` of every value into ``node.meta["tensor_meta"]``, its type into
    ``node.meta["type"]``."""

    def run_node(self, n):
        """The value of the node, noted."""
        result = super().run_node(n)
        found = []

        def note(x):
            if isinstance(x, Tensor):
                found.append(x)
                return metadata(x)
            return x
        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run the graph with these arguments; its result."""
        return self.run(*args)
