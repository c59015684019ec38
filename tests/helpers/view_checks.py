"""Requirements on every view: whole, self-contained and small."""

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import minitorch as torch

VOID = {"input", "br", "hr", "img", "meta", "rect", "path"}
OUTSIDE = re.compile(r"https?:|\bsrc=|\bhref=|url\(|//\w|@import", re.IGNORECASE)
MOST = 200_000


class Balance(HTMLParser):
    """Raises where tags do not close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [v for k, v in attrs if k == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag


def check(view, svg=True):
    """A view is balanced HTML with unique ids, without addresses, small, and has words; its SVG is XML with a title."""
    source = view._repr_html_()
    parser = Balance()
    parser.feed(source)
    parser.close()
    assert not parser.open and len(set(parser.ids)) == len(parser.ids)
    assert not OUTSIDE.search(source), OUTSIDE.search(source)
    assert len(source.encode()) < MOST, len(source)
    assert str(view) == repr(view) and str(view).strip()
    if svg:
        root = ElementTree.fromstring(view.svg())
        assert root.tag == "svg" and root.get("role") == "img"
        assert root.find("title").text and root.find("desc").text
    return source


def diamond():
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    return x, a, a * a
