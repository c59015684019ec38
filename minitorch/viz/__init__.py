"""Pictures of what happens inside: graphs, backward passes, memory, training, kernels.

    loss.graph()                     the autograd graph; `.collapse("Module")`, `.step()`
    viz.replay(loss)                 the backward pass step by step, and two wrong ways to do it
    x.layout(), viz.alias(a, b, c)   storage and strides of your own tensors, and who shares memory with whom
    with viz.flow(model) as f: ...   activations, gradients and updates of each layer over the steps
    viz.attention(q, k, v)           attention step by step: scores, mask, softmax, values
    viz.forward(model, x)            a forward pass, module by module: outputs, shapes, where attention looks
    viz.fusion(compiled)             which calls of a compiled function went into which loops
    viz.kernel(records)              a kernel, thread by thread: memory touched, races, bank conflicts
    viz.canvas(model)                a surface to draw on, judged by the model in the browser, without a kernel
    viz.view(x).save("x.html")       what a notebook shows of a tensor, a module, a profile, a check
    viz.curves(...), viz.feature_maps(...), viz.attention_map(...), viz.loss_surface(...), viz.decision_boundary(...)
                                     by matplotlib, where it is installed

Every view is an object that a notebook shows as self-contained SVG and HTML, ``print`` writes as text and ``.save``
writes to a file. ``python -m minitorch.viz contact-sheet DIR`` makes a page of them all.
"""

from .accesses import Access, emulate
from .attentions import Attention, attention
from .canvases import Canvas, canvas
from .drawing import View as view
from .flows import Flow, flow
from .forwards import Forward, forward
from .fusions import Fusion, fusion
from .graphs import Graph, graph
from .kernels import Kernel, kernel
from .plots import attention_map, curves, decision_boundary, feature_maps, loss_surface
from .replays import Replay, replay
from .storage import Alias, Layout, alias, layout

__all__ = ["Access", "Alias", "Attention", "Canvas", "Flow", "Forward", "Fusion", "Graph", "Kernel", "Layout", "Replay",
           "alias", "attention", "attention_map", "canvas", "curves", "decision_boundary", "emulate", "feature_maps",
           "flow", "forward", "fusion", "graph", "kernel", "layout", "loss_surface", "replay", "view"]
