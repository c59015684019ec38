"""The registry: every op definition and public function, and the slots that later modules fill.

A leaf: it imports nothing of the package, so that whoever defines something can enter it, and whoever needs something
can find it, without knowing each other.
"""

from importlib import import_module
from typing import Any

OPS: dict = {}             # name -> Op: every op definition; filled by `op.Op`
FUNCTIONS: dict = {}       # (namespace, public name) -> Public: every public function; filled by `op.publish`
METHODS: dict = {}         # name -> function: methods with a signature of their own; filled by `op.method`
NAMES: dict = {}           # the names that generated calls may use; filled by `op` and `call`, read by `op.deferred`

Tensor: Any = None         # both filled by `tensor`, which imports the graph and the engine
wrap: Any = None
write_out: Any = None      # how ``out=`` is served; filled by `ops.out`
PROMOTIONS: dict = {}      # word -> how inputs are brought to one dtype; filled by `ops.promotion`


class Late:
    """Functions of higher packages that tensors and calls hand over to, imported when first called.

    ``late.tensor_repr(x)``: `places` says where each is ("module:function"). Only the package's root fills it, since
    only the root knows what lies above the core; a test resolves every entry.
    """

    def __init__(self):
        self.places = {}

    def __getattr__(self, name):
        if name not in self.__dict__.get("places", ()):
            raise AttributeError(f"the package's root names no place for {name!r}")
        found = self.find(self.places[name])
        setattr(self, name, found)
        return found

    @staticmethod
    def find(place):
        """The function that "module:function" names."""
        module, _, function = place.partition(":")
        return getattr(import_module(module), function)


late = Late()
