"""The events of a profile over time: what ran when, and within what."""

from ..viz import drawing
from ..viz.drawing import COLOURS, FAINT, INK, Picture, element, text
from ..viz.stepper import script_for, style_for
from .averages import bytes_text, time_text

__all__ = ["Timeline"]

WIDTH, ROW, MOST = 1000, 20, 400                           # pixels; events that are drawn
TINT = {"op": drawing.TINTS[0], "backward": drawing.TINTS[1], "optimizer": drawing.TINTS[2],
        "range": drawing.TINTS[3], "step": drawing.TINTS[4]}


class Timeline(Picture):
    """Events as bars, those within others below them, each thread by itself; the longest are drawn."""

    title = "Profile"

    def __init__(self, events):
        self.events = list(events)
        self.shown = sorted(sorted(self.events, key=lambda e: e.duration, reverse=True)[:MOST],
                            key=lambda e: (e.thread, e.start, e.depth))

    def text(self):
        """The longest events, a line each, indented as they nest."""
        if not self.events:
            return "no events"
        begin = min(e.start for e in self.events)
        lines = [f"{time_text((e.start - begin) / 1000).rjust(10)} {'  ' * e.depth}{e.name} {time_text(e.duration)}"
                 for e in self.shown[:60]]
        if len(self.events) > 60:
            lines.append(f"and {len(self.events) - min(len(self.shown), 60)} more")
        return "\n".join(lines)

    def svg(self):
        """The bars."""
        if not self.events:
            return drawing.svg_root(300, 30, "Profile", "no events", text(10, 20, "no events", 12, "start"))
        begin, end = min(e.start for e in self.events), max(e.end for e in self.events)
        scale, parts, y = WIDTH / max(end - begin, 1), [], 24
        parts.append(text(10, 14, f"0 to {time_text((end - begin) / 1000)}; {len(self.shown)} of {len(self.events)} "
                          f"events", 11, "start", FAINT))
        for thread in dict.fromkeys(e.thread for e in self.shown):
            mine = [e for e in self.shown if e.thread == thread]
            parts += [draw_bar(e, 10 + (e.start - begin) * scale, y + ROW * e.depth, (e.end - e.start) * scale)
                      for e in mine]
            y += ROW * (max(e.depth for e in mine) + 1) + 12
        kinds = [k for k in TINT if any(e.kind == k for e in self.shown)]
        for i, kind in enumerate(kinds):
            parts.append(element("rect", x=10 + 110 * i, y=y, width=14, height=12, fill=TINT[kind], stroke=INK))
            parts.append(text(30 + 110 * i, y + 10, kind, 11, "start"))
        return drawing.svg_root(WIDTH + 20, y + 24, "Profile: events over time", self.text(), *parts)

    _repr_svg_ = svg

    def html(self):
        """The bars; names and times under the pointer."""
        key = drawing.new_id()
        return drawing.frame(key, self.svg(), script_for(key), style=style_for(key), title=self.title)


def draw_bar(e, x, y, width):
    """One event, named if there is room; the rest is its title."""
    memory = f", {bytes_text(e.memory)}" if e.memory else ""
    tip = element("title", drawing.escape(f"{e.name}: {time_text(e.duration)}{memory}"))
    room = int(width / 6.5)
    name = text(x + 3, y + 13, drawing.clipped(e.name, room), 10, "start") if room >= 3 else ""
    rect = element("rect", x=x, y=y, width=max(width, 0.6), height=ROW - 3, fill=TINT.get(e.kind, COLOURS[5]),
                   stroke=INK, stroke_width=0.5)
    return element("g", tip, rect, name)
