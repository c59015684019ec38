"""The little script that lets a reader step through a picture and see what belongs together.

It only adds to what is there: without it a view is a still picture with all of its words. It makes its own buttons
and slider, so a page that drops scripts shows none that do nothing.
"""

import json

__all__ = ["style_for", "script_for"]

# A step is {"on": parts to light, "was": parts to mark as done, "set": {part: text}, "say": words}; texts stay until
# another step of the track sets them, and each part carries its names in data-k. "t0:31" stands for t0 to t31.
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
  Object.keys(parts).forEach(function (k) {
    parts[k].forEach(function (e) {
      e.addEventListener("mouseover", function () { each([k], function (x) { x.classList.add("near"); }); });
      e.addEventListener("mouseout", function () { each([k], function (x) { x.classList.remove("near"); }); });
    });
  });
  if (!names.length) return;
  var bar = document.createElement("div"), said = document.createElement("div"), tabs = {};
  bar.setAttribute("role", "group"); bar.setAttribute("aria-label", "steps"); bar.style.margin = "6px 0";
  said.setAttribute("aria-live", "polite"); said.style.minHeight = "2.6em"; said.style.whiteSpace = "pre-wrap";
  function button(words, label, act) {
    var b = document.createElement("button"); b.type = "button"; b.textContent = words;
    b.setAttribute("aria-label", label); b.style.margin = "0 4px 0 0"; b.style.font = "inherit";
    b.addEventListener("click", act); bar.appendChild(b); return b;
  }
  if (names.length > 1) names.forEach(function (n) {
    tabs[n] = button(n, n, function () { track = n; at = 0; slider.max = tracks[n].length - 1; show(); });
  });
  button("\\u25c0", "step back", function () { at -= 1; show(); });
  button("\\u25b6", "step forward", function () { at += 1; show(); });
  var slider = document.createElement("input"), count = document.createElement("span");
  slider.type = "range"; slider.min = 0; slider.max = tracks[track].length - 1; slider.value = 0;
  slider.setAttribute("aria-label", "step"); slider.style.verticalAlign = "middle"; slider.style.width = "220px";
  slider.addEventListener("input", function () { at = +slider.value; show(); });
  bar.appendChild(slider); bar.appendChild(count);
  root.addEventListener("keydown", function (e) {
    if (e.target === slider) return;
    if (e.key === "ArrowRight") { at += 1; show(); e.preventDefault(); }
    if (e.key === "ArrowLeft") { at -= 1; show(); e.preventDefault(); }
  });
  var place = root.querySelector(".controls") || root;
  place.insertBefore(said, place.firstChild); place.insertBefore(bar, said);
  function show() {
    var steps = tracks[track];
    at = Math.max(0, Math.min(at, steps.length - 1));
    root.querySelectorAll(".on,.was").forEach(function (e) { e.classList.remove("on", "was"); });
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
    said.textContent = steps[at].say || "";
    slider.value = at; count.textContent = " " + (at + 1) + " of " + steps.length;
    slider.setAttribute("aria-valuetext", steps[at].say || "");
    names.forEach(function (n) { if (tabs[n]) tabs[n].setAttribute("aria-pressed", n === track);
      if (tabs[n]) tabs[n].style.fontWeight = n === track ? "bold" : "normal"; });
  }
  show();
})();</script>"""


def script_for(key, tracks=None):
    """The script for the view with the id `key`: hover always, steps if `tracks` (name -> list of steps) has any."""
    data = json.dumps(tracks or {}, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return SCRIPT % {"key": json.dumps(key), "tracks": data}


def style_for(key):
    """How lit parts look: a thick dark rim, so that it does not take colour to see them."""
    at = f"#{key}"
    return (f"<style>{at} g.was rect,{at} rect.was{{fill:#e8f4ee}}"
            f"{at} g.near rect,{at} rect.near{{stroke:#D55E00;stroke-width:3}}"
            f"{at} g.on rect,{at} rect.on{{stroke:#1b1b1b;stroke-width:2.5;fill:#F0E442}}"
            f"{at} path.on{{stroke:#D55E00;stroke-width:4}}{at} tr.on td{{background:#fbf8c9;font-weight:bold}}"
            f"{at} path.near{{stroke:#D55E00;stroke-width:3}}{at} tr.near td{{background:#f2f2f2}}</style>")
