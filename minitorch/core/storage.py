"""The names of layouts and memory formats."""

from .registry import guests


class layout:
    """The way in which a tensor stores its elements; tensors over arrays are `strided`."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


class TensorLayout(layout):
    """The value of `x.layout`, equal to `strided`. Calling it, ``x.layout()``, draws the storage
    and strides."""

    def __init__(self, tensor):
        self.name, self.tensor = "strided", tensor

    def __eq__(self, other):
        return isinstance(other, layout) and other.name == self.name

    def __hash__(self):
        return hash(strided)

    def __reduce__(self):
        return layout, (self.name,)

    def __call__(self):
        """Storage and strides as a picture: see `minitorch.viz.layout`."""
        return guests.draw_layout(self.tensor)


class memory_format(layout):
    """An order of the dimensions in memory."""


strided, jagged = layout("strided"), layout("jagged")
contiguous_format, channels_last, channels_last_3d, preserve_format = map(
    memory_format, ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format"))
