"""Signal processing, as ``torch.signal``: the windows."""

from . import windows as windows
