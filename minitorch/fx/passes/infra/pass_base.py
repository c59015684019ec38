"""`PassBase`: a change of graphs as an object, and `PassResult`, what it returns."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether the pass has changed it."""

    graph_module: Any
    modified: bool


class PassBase(ABC):
    """A pass: derived classes define `call`, and may check the module before (`requires`) and after (`ensures`)."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module):
        """The pass itself; returns a `PassResult`."""

    def requires(self, graph_module):                      # noqa: B027
        """Raise unless the pass may run."""

    def ensures(self, graph_module):                       # noqa: B027
        """Raise unless the pass has done what it should."""
