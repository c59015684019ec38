"""The HTML of a result: one card, readable without colour, nothing loaded from elsewhere."""

import re
from html import escape

from .. import theme

CARD = ".minitorch-card"

# Blue, orange and grey are told apart by colour-blind readers too; a sign and the words say the same.
LOOKS = {"ok": ("✓", "#0072b2", "#eaf4fb"), "wrong": ("✗", "#b34700", "#fdf1e7"),
         "missing": ("…", "#555555", "#f3f3f3")}


def text(lines):
    """A card as plain text; lines that continue one are indented."""
    (head, words), *rest = lines
    below = [f"  {label}: {words}" if "\n" not in words else f"  {label}:\n    " + words.replace("\n", "\n    ")
             for label, words in rest]
    return "\n".join([head, f"  {words}", *below])


def html(state, lines):
    """A card of labelled lines; the first one is its head."""
    sign, ink, paper = LOOKS[state]
    (head, text), *rest = lines
    rows = "".join(f'<div style="margin-top:.35em"><span style="color:{ink};font-weight:600">{escape(label)}:</span> '
                   f'{value(label, words)}</div>' for label, words in rest)
    style = (f"border-left:5px solid {ink};background:{paper};color:#1a1a1a;padding:.6em .9em;margin:.3em 0;"
             f"max-width:52em;border-radius:0 8px 8px 0;font:14px/1.5 system-ui,sans-serif")
    return theme.themed(CARD, f'<div role="note" class="{CARD[1:]}" style="{style}"><div><b style="color:{ink}">{sign} '
                              f'{escape(head)}</b></div><div>{code_spans(text)}</div>{rows}</div>')


def value(label, words):
    if label in ("This looks like", "PyTorch"):
        return f"<b>{code_spans(words)}</b>"
    return f'<code style="white-space:pre-wrap;color:#1a1a1a;background:none">{escape(words)}</code>'


def code_spans(words):
    """Escaped text with `such` pieces as code and *such* words in italics."""
    pieces = words.split("`")
    return "".join(f'<code style="color:#1a1a1a;background:none">{escape(p)}</code>' if i % 2
                   else re.sub(r"\*(\w[^*]*\w)\*(?!\w)", r"<em>\1</em>", escape(p)) for i, p in enumerate(pieces))


def table(results):
    """The report: one line for each check."""
    solved = sum(r.ok for r in results.values())
    cell = '<td style="text-align:left;vertical-align:top;{}background:#ffffff;color:{}">{}</td>'
    looks = {state: (f"{sign} {escape(state)}", color) for state, (sign, color, *_) in LOOKS.items()}
    rows = "".join("<tr>" + cell.format("white-space:nowrap;", looks[r.state][1], looks[r.state][0])
                   + cell.format("", "#1a1a1a", f'<code style="color:#1a1a1a;background:none">{escape(name)}</code>')
                   + cell.format("", "#1a1a1a", code_spans(r.words or "")) + "</tr>" for name, r in results.items())
    head = (f'<caption style="text-align:left;font-weight:600;white-space:nowrap;padding:.3em .6em;color:#1a1a1a;'
            f'background:#ffffff">{solved} of {len(results)} exercises solved</caption>')
    style = "font:14px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#ffffff"
    return theme.themed(CARD, f'<table class="{CARD[1:]}" style="{style}">{head}{rows}</table>')
