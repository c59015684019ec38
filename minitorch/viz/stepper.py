"""The little script that lets a reader step through a picture and see what belongs together.

It only adds to what is there: without it a view is a still picture with all of its words. It makes its own buttons
and slider, so a page that drops scripts shows none that do nothing.
"""

import json

__all__ = ["style_for", "script_for"]

# A step is {"on": parts to light, "dim": parts to fade, "was": parts that are done, "set": {part: text}, "say": words}.
# Texts stay until another step of the track sets them. Each part carries its names in data-k, and in data-lit those
# that light up when the pointer is on it, if these are others. "t0:31" stands for t0 to t31.
SCRIPT = """<script>(function () {
  var root = document.getElementById(%(key)s);
  if (!root || root.getAttribute("data-live")) return;
  root.setAttribute("data-live", "1");
  var parts = {}, first = {}, tracks = %(tracks)s, names = Object.keys(tracks), track = names[0], at = 0;
  root.querySelectorAll("[data-k]").forEach(function (e) {
    e.getAttribute("data-k").split(" ").forEach(function (k) { (parts[k] = parts[k] || []).push(e); });
  });
  function each(keys, f) {
    (keys || []).forEach(function (k) {
      var run = /^(.*?)(\\d+):(\\d+)$/.exec(k);
      for (var i = run ? +run[2] : 0; i <= (run ? +run[3] : 0); i++) (parts[run ? run[1] + i : k] || []).forEach(f);
    });
  }
  root.querySelectorAll("[data-k]").forEach(function (e) {
    var near = (e.getAttribute("data-lit") || e.getAttribute("data-k")).split(" ");
    e.addEventListener("mouseover", function () { each(near, function (x) { x.classList.add("near"); }); });
    e.addEventListener("mouseout", function () { each(near, function (x) { x.classList.remove("near"); }); });
  });
  if (!names.length) return;
  var bar = document.createElement("div"), said = document.createElement("div"), tabs = {};
  bar.setAttribute("role", "group"); bar.setAttribute("aria-label", "steps"); bar.className = "bar";
  said.setAttribute("aria-live", "polite"); said.className = "said"; root.tabIndex = 0;
  function button(words, label, act) {
    var b = document.createElement("button"); b.type = "button"; b.textContent = words;
    b.setAttribute("aria-label", label);
    b.addEventListener("click", act); bar.appendChild(b); return b;
  }
  if (names.length > 1) names.forEach(function (n) {
    tabs[n] = button(n, n, function () { track = n; at = 0; slider.max = tracks[n].length - 1; show(); });
  });
  button("\\u2190", "step back", function () { at -= 1; show(); });
  button("\\u2192", "step forward", function () { at += 1; show(); });
  var playing = 0, play = button("play", "play the steps", function () {
    if (playing) return stop();
    if (at >= tracks[track].length - 1) at = -1;
    playing = setInterval(function () {
      at += 1; show(); if (at >= tracks[track].length - 1 || !document.contains(root)) stop(); }, 1400);
    play.textContent = "pause";
  });
  function stop() { clearInterval(playing); playing = 0; play.textContent = "play"; }
  var slider = document.createElement("input"), count = document.createElement("span");
  slider.type = "range"; slider.min = 0; slider.max = tracks[track].length - 1; slider.value = 0;
  slider.setAttribute("aria-label", "step"); count.className = "count";
  slider.addEventListener("input", function () { at = +slider.value; show(); });
  bar.appendChild(slider); bar.appendChild(count);
  root.addEventListener("keydown", function (e) {
    if (e.target === slider) return;
    if (e.key === "ArrowRight") { at += 1; show(); e.preventDefault(); }
    if (e.key === "ArrowLeft") { at -= 1; show(); e.preventDefault(); }
    if (e.key === "Home") { at = 0; show(); e.preventDefault(); }
    if (e.key === "End") { at = 1e9; show(); e.preventDefault(); }
  });
  var place = root.querySelector(".controls") || root;
  place.insertBefore(said, place.firstChild); place.insertBefore(bar, said);
  function show() {
    var steps = tracks[track];
    at = Math.max(0, Math.min(at, steps.length - 1));
    root.querySelectorAll(".on,.was,.dim").forEach(function (e) { e.classList.remove("on", "was", "dim"); });
    Object.keys(first).forEach(function (k) { each([k], function (e) { e.textContent = first[k]; }); });
    for (var i = 0; i <= at; i++) {
      var set = steps[i].set || {};
      Object.keys(set).forEach(function (k) {
        if (!(k in first) && parts[k]) first[k] = parts[k][0].textContent;
        each([k], function (e) { e.textContent = set[k]; });
      });
      each(steps[i].was, function (e) { e.classList.add("was"); });
    }
    each(steps[at].on, function (e) { e.classList.add("on"); });
    each(steps[at].dim, function (e) { e.classList.add("dim"); });
    said.textContent = steps[at].say || "";
    slider.value = at; count.textContent = " " + (at + 1) + " of " + steps.length;
    slider.setAttribute("aria-valuetext", steps[at].say || "");
    names.forEach(function (n) { if (tabs[n]) tabs[n].setAttribute("aria-pressed", n === track); });
  }
  show();
})();</script>"""


def script_for(key, tracks=None):
    """The script for the view with the id `key`: hover always, steps if `tracks` (name -> list of steps) has any."""
    data = json.dumps(tracks or {}, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return SCRIPT % {"key": json.dumps(key), "tracks": data}


STYLE = """%(k)s .bar{display:flex;flex-wrap:wrap;align-items:center;gap:2px;margin:2px 0 4px}
%(k)s .bar input{flex:1 1 120px;max-width:260px;margin:0 8px;accent-color:#0072b2}%(k)s .count{color:#6b6b6b}
%(k)s .said{min-height:3em;white-space:pre-wrap;font:12.5px/1.5 ui-monospace,Menlo,Consolas,monospace;padding:6px 10px;
margin:0 0 8px;border-left:3px solid #0072b2;background:#fafaf8;border-radius:0 6px 6px 0}
%(k)s rect,%(k)s path,%(k)s td,%(k)s text{transition:fill .3s,stroke .3s,stroke-width .3s,background .3s,opacity .3s}
%(k)s g.was rect,%(k)s rect.was{fill:#e8f4ee}
%(k)s g.near rect,%(k)s rect.near{stroke:#d55e00;stroke-width:3}
%(k)s g.on rect,%(k)s rect.on{stroke:#1b1b1b;stroke-width:2.5;fill:#f0e442;fill-opacity:.8}
%(k)s path.on{stroke:#d55e00;stroke-width:4}%(k)s path.near{stroke:#d55e00;stroke-width:3}
%(k)s tr.on td{background:#fbf8c9;font-weight:bold}%(k)s tr.near td{background:#f2f2f2}
%(k)s .dim{opacity:.3}%(k)s text.on{fill:#d55e00}
@media(prefers-reduced-motion:reduce){%(k)s *{transition:none!important}}"""


def style_for(key):
    """How lit parts look: a thick dark rim, so that it does not take colour to see them.

    Steps fade into each other, unless the reader's system asks for less motion.
    """
    return f"<style>{STYLE % {'k': f'#{key}'}}</style>".replace("\n", "")
