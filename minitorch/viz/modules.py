"""A module as a tree in HTML, what a notebook shows of a model: kinds, shapes, numbers of parameters."""

from html import escape

from ..nn.parameter import is_lazy
from ..printing import shows_html
from . import drawing

__all__ = ["module_html", "summary_html"]

MOST = 400                                                 # modules in one tree


def module_html(module):
    """The tree of `module`, branches folded below the second level; None after ``set_printoptions(html=False)``."""
    if not shows_html():
        return None
    left = [MOST]
    body = branch(module, "", 0, left)
    more = drawing.element("p", "more modules are not shown") if left[0] < 0 else ""
    style = "margin:1px 0 1px 1.4em"
    return drawing.frame(drawing.new_id(), f'<div style="{style}">{body}</div>', more)


def branch(module, name, level, left):
    """One module with its children."""
    left[0] -= 1
    if left[0] < 0:
        return ""
    children = [(k, m) for k, m in module._modules.items() if m is not None]
    line = headline(module, name) + parameters(module)
    if not children:
        return f"<div>{line}</div>"
    inside = "".join(branch(m, k, level + 1, left) for k, m in children)
    is_open = " open" if level < 2 else ""
    return (f'<details{is_open}><summary>{line}</summary><div style="margin-left:1.6em;border-left:1px solid #cccccc;'
            f'padding-left:.6em">{inside}</div></details>')


def headline(module, name):
    """Name, kind, settings and number of parameters."""
    extra = module.extra_repr().replace("\n", ", ")
    words = f"<b>{escape(name)}</b>: " if name else ""
    words += f"{escape(module._get_name())}({escape(drawing.clipped(extra, 90))})"
    own = [p for p in module.parameters() if not is_lazy(p)]
    total, frozen = sum(p.numel() for p in own), sum(p.numel() for p in own if not p.requires_grad)
    if total:
        words += f" <small>{total:,} parameters{f', {frozen:,} frozen' if frozen else ''}</small>"
    return words + ("" if module.training else " <small>eval</small>")


def parameters(module):
    """The module's own parameters and buffers with their shapes."""
    found = [(k, p, "buffer ") for k, p in module._buffers.items()]
    found = [(k, p, "") for k, p in module._parameters.items()] + found
    words = [f"{kind}{escape(k)} {'not made yet' if is_lazy(p) else list(p.shape)}" for k, p, kind in found
             if p is not None]
    return f'<br><small style="margin-left:1.6em;color:{drawing.FAINT}">{", ".join(words)}</small>' if words else ""


def summary_html(summary):
    """The table of `minitorch.nn.summary`."""
    table = drawing.table(summary.table(), ["module", "output", "parameters", "FLOPs"], "One call of the model")
    return drawing.frame(drawing.new_id(), table, drawing.element("p", drawing.escape(summary.total())))
