"""The graph of a model for TensorBoard: the ops of one forward pass, by module, as a GraphDef."""

from ..autograd.grad_mode import no_grad
from ..core.layers import observed
from ..core.tensor import Tensor

__all__ = ["graph_of"]


class Drawing:
    """Nodes ``(name, op, names of inputs, shapes of outputs)`` of what runs while it is drawn."""

    def __init__(self, model):
        self.nodes, self.made, self.kept, self.depth = [], {}, [], 0
        self.scopes, self.used = [type(model).__name__], set()
        for scope, module in self.scopes_of(model, self.scopes[0]):
            for name, p in [*module._parameters.items(), *module._buffers.items()]:
                if p is not None:
                    self.node(f"{scope}/{name}", "prim::GetAttr", [], [p.array])

    def scopes_of(self, module, scope):
        """Pairs of a name such as ``Net/Sequential[layers]/Linear[0]`` and a module."""
        yield scope, module
        for name, child in module.named_children():
            yield from self.scopes_of(child, f"{scope}/{type(child).__name__}[{name}]")

    def node(self, name, op, inputs, arrays):
        """Enter a node under a name that is still free, and what it makes."""
        free, n = name, 1
        while free in self.used:
            n += 1
            free = f"{name}_{n}"
        self.used.add(free)
        self.nodes.append((free, op, list(dict.fromkeys(inputs)), [a.shape for a in arrays]))
        for a in arrays:
            self.made[id(a)] = free
            self.kept.append(a)                            # or another array would get its id
        return free

    def inputs(self, arrays):
        return [self.made[id(a)] for a in arrays if id(a) in self.made]

    def begin(self, name, arrays, attrs, backend):
        self.depth += 1
        return name, arrays

    def end(self, token, result):
        self.depth -= 1
        if not self.depth and result is not None:
            name, arrays = token
            made = [a for a in (result if isinstance(result, tuple) else [result]) if hasattr(a, "shape")]
            self.node(f"{self.scopes[-1]}/{name}", f"aten::{name}", self.inputs(arrays), made)

    def enter(self, scope):
        return lambda module, args: self.scopes.append(scope)

    def leave(self, module, args, out):
        self.scopes.pop()

    def run(self, model, args):
        for n, x in enumerate(args, 1):
            if isinstance(x, Tensor):
                self.node(f"input/input.{n}", "IO Node", [], [x.array])
        modes = {module: module.training for module in model.modules()}
        handles = []
        for scope, module in list(self.scopes_of(model, self.scopes[0]))[1:]:
            handles += [module.register_forward_pre_hook(self.enter(scope)), module.register_forward_hook(self.leave)]
        try:
            model.eval()                                   # no random numbers, no new running means
            with no_grad(), observed(self.begin, self.end):
                found = model(*args)
        finally:
            for module, training in modes.items():
                module.training = training
            for handle in handles:
                handle.remove()
        for n, x in enumerate(found if isinstance(found, (tuple, list)) else [found], 1):
            if isinstance(x, Tensor):
                self.nodes.append((f"output/output.{n}", "IO Node", self.inputs([x.array]), [x.shape]))
        return self.nodes


def graph_of(model, args):
    """A GraphDef of the ops that ``model(*args)`` runs, of the package ``tensorboard``; `args` may be one tensor.

    The model is run once, without gradients, in the mode that it is in.
    """
    from tensorboard.compat.proto import (
        attr_value_pb2,
        graph_pb2,
        node_def_pb2,
        tensor_shape_pb2,
        versions_pb2,
    )
    Shape, Value = tensor_shape_pb2.TensorShapeProto, attr_value_pb2.AttrValue

    def shapes(sizes):
        found = [Shape(dim=[Shape.Dim(size=n) for n in size]) for size in sizes]
        return Value(list=Value.ListValue(shape=found))
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    nodes = [node_def_pb2.NodeDef(name=name, op=op, input=inputs, attr={"_output_shapes": shapes(sizes)})
             for name, op, inputs, sizes in Drawing(model).run(model, args)]
    return graph_pb2.GraphDef(node=nodes, versions=versions_pb2.VersionDef(producer=22))
