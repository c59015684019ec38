"""A program of a device as one captured graph: ``compile(mode="reduce-overhead")``.

The first run after the trace is an ordinary one, the second is captured, the others copy their
arguments into the captured ones and run the graph. Results lie in the graph's memory: the next run
overwrites them, as in PyTorch.
"""

from ..cuda import CUDAGraph, graph

__all__ = ["Graph", "why_not"]


def why_not(plan):
    """The reason why a plan cannot be a graph; None if it can."""
    if not hasattr(plan.base, "machine"):
        return "only devices 'cuda' and 'sim' have graphs"
    if plan.wiring.backward is not None:
        return "its result is differentiated outside"
    if any(not i.args[1] for i in plan.programs.parts[0].program.effects()):
        return "a schedule steps inside"
    return None


class Graph:
    """The function of a plan that runs a captured graph, if that was captured with the present
    arrays of the tensors from outside."""

    def __init__(self, plan):
        self.base, self.function = plan.base, plan.function
        forward = plan.programs.parts[0]
        self.count = len(forward.inputs)
        self.stepped = [p for p, _ in forward.program.stepped()]
        self.warm, self.arrays = False, None

    def __call__(self, *arrays):
        n, xp = self.count, self.base.xp
        outside = arrays[n:]
        if not self.warm or self.arrays is not None and any(
                a is not b for a, b in zip(outside, self.arrays[n:])):
            self.warm, self.arrays = True, None            # kernels are compiled, states made
            return self.function(*arrays)
        if self.arrays is None:
            self.capture([*[xp.array(a) for a in arrays[:n]], *outside])
        for mine, a in zip(self.arrays[:n], arrays):
            xp.copyto(mine, a)
        self.graph.replay()
        for p, grad in self.left:
            p._grad = grad
        return self.results

    def capture(self, arrays):
        captured = CUDAGraph(self.base.device)
        with graph(captured):
            self.results = self.function(*arrays)
        self.graph, self.arrays = captured, arrays
        self.left = [(p, p._grad) for p in self.stepped]
