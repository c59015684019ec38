"""`show_figure`: a matplotlib figure in a notebook with a text alternative, for those who do not see it.

JupyterLab, VS Code and pages made by nbconvert show figures as images without any words. Here the words are the image's
alternative text, and what a screen reader, a text browser or a printed cell says.
"""

import base64
import io
from html import escape

from .plots import pyplot

__all__ = ["Picture", "show_figure"]


class Picture:
    """An image and its words: HTML for pages, PNG for papers, the words for everything else."""

    def __init__(self, png, words):
        self.png, self.words = png, words

    def _repr_html_(self):
        return (f'<img alt="{escape(self.words)}" style="max-width:100%;background:#ffffff" '
                f'src="data:image/png;base64,{base64.b64encode(self.png).decode()}">')

    def _repr_png_(self):
        return self.png

    def __repr__(self):
        return f"[picture: {self.words}]"


def show_figure(figure, words, dpi=88):
    """Show a figure, or the one that an axis (or an array of axes) belongs to, with these words for it; close it.

    In a program without notebook, matplotlib shows it.
    """
    if not words or len(words) < 20:
        raise ValueError("a text alternative says in a sentence or two what the picture shows")
    if not hasattr(figure, "savefig"):
        figure = getattr(figure, "flat", [figure])[0].figure
    display(Picture(drawn(figure, dpi), " ".join(words.split())), figure)
    pyplot().close(figure)


def drawn(figure, dpi):
    """A figure as the bytes of a PNG in 64 colours, which is a quarter of the size."""
    from PIL import Image  # comes with matplotlib
    file, small = io.BytesIO(), io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight")
    Image.open(file).convert("RGB").quantize(64).save(small, format="png", optimize=True)
    return small.getvalue()


def display(picture, figure):
    """Hand a picture to the notebook there is; elsewhere matplotlib shows the figures that are open."""
    try:
        from IPython import get_ipython
    except ImportError:
        get_ipython = None
    if get_ipython is not None and get_ipython() is not None:
        from IPython.display import display as show
        show(picture)
    else:
        pyplot().show()
