"""Style and script of `canvas`: drawing, rendering, and a small network run in a browser."""

__all__ = ["SCRIPT", "STYLE"]

STYLE = """
#KEY .row{display:flex;flex-wrap:wrap;gap:24px;align-items:flex-start}
#KEY canvas.paper{border:1px solid;border-radius:8px;touch-action:none;cursor:crosshair;width:280px;max-width:100%;
 aspect-ratio:1}
#KEY canvas.seen{border:1px solid #888888;width:84px;height:84px;image-rendering:pixelated;background:black}
#KEY .bar{background:#0072B2}
#KEY .bars{display:grid;grid-template-columns:max-content 170px 3.5em;gap:2px 8px;align-items:center;
 font-variant-numeric:tabular-nums}
#KEY .bars .bar{height:14px;min-width:1px;border-radius:2px;transition:width .15s}
#KEY .bars .best{font-weight:700}
#KEY canvas:focus-visible{outline:3px solid #E69F00;outline-offset:2px}
#KEY p.said{font-size:20px;min-height:1.5em;margin:0 0 8px;color:inherit}
#KEY p.help{max-width:34em;margin:8px 0 0}
@media (prefers-reduced-motion:reduce){#KEY .bars .bar{transition:none}}"""

# `judge(strokes)` is on the root element, too: {image, scores, shares} for strokes of points [x, y].
SCRIPT = """<script>(function () {
  var d = DATA, root = document.getElementById(d.key), N = d.side;
  if (!root || root.getAttribute("data-live")) return;
  root.setAttribute("data-live", "1");
  function floats(text) {
    if (text === null) return null;
    var raw = atob(text.replace(/-/g, "+").replace(/_/g, "/")), view = new DataView(new ArrayBuffer(raw.length));
    var out = new Float32Array(raw.length / 4);
    for (var i = 0; i < raw.length; i++) view.setUint8(i, raw.charCodeAt(i));
    for (i = 0; i < out.length; i++) out[i] = view.getFloat32(4 * i, true);
    return out;
  }
  var layers = d.layers.map(function (l) {
    var made = Object.assign({}, l);
    if ("w" in l) { made.w = floats(l.w); made.b = floats(l.b); }
    return made;
  });

  /* From strokes to an image, as minitorch.datasets.rendered makes them. */
  function traced(strokes) {
    var xs = [], ys = [], points = [], ink = [];
    strokes.forEach(function (s) { s.forEach(function (p) { xs.push(p[0]); ys.push(p[1]); }); });
    if (!xs.length) return null;
    function range(v) { return Math.max.apply(null, v) - Math.min.apply(null, v); }
    var step = Math.max(Math.max(range(xs), range(ys)) / d.steps, 1e-9);
    strokes.forEach(function (s) {
      for (var j = 0; j + 1 < s.length; j++) {
        var a = s[j], b = s[j + 1], n = Math.max(1, Math.ceil(Math.hypot(b[0] - a[0], b[1] - a[1]) / step));
        for (var i = 0; i < n; i++) {
          points.push([a[0] + (b[0] - a[0]) * (i / n), a[1] + (b[1] - a[1]) * (i / n)]); ink.push(1);
        }
      }
      if (s.length) { points.push(s[s.length - 1].slice()); ink.push(0); }
    });
    return {points: points, ink: ink};
  }
  function image(strokes) {
    var out = new Float64Array(N * N), t = traced(strokes), low = [1e9, 1e9], high = [-1e9, -1e9];
    if (!t || t.ink.indexOf(1) < 0) return out;
    t.points.forEach(function (p, i) {
      if (t.ink[i]) for (var a = 0; a < 2; a++) { low[a] = Math.min(low[a], p[a]); high[a] = Math.max(high[a], p[a]); }
    });
    var scale = d.box / Math.max(high[0] - low[0], high[1] - low[1], 1e-6), total = 0, middle = [0, 0];
    t.points.forEach(function (p) { for (var a = 0; a < 2; a++) p[a] = (p[a] - low[a]) * scale; });
    var mass = t.points.map(function (p, i) {
      var q = t.points[i + 1];
      return q && t.ink[i] ? Math.hypot(q[0] - p[0], q[1] - p[1]) : 0;
    });
    mass.forEach(function (m, i) { total += m; for (var a = 0; a < 2; a++) middle[a] += m * t.points[i][a]; });
    for (var a = 0; a < 2; a++) middle[a] /= Math.max(total, 1e-6);
    t.points.forEach(function (p, i) {
      if (!mass[i]) return;
      var amount = mass[i] / (Math.sqrt(2 * Math.PI) * d.pen), gx = [], gy = [];
      for (var k = 0; k < N; k++) {
        gx.push(Math.exp(-0.5 * Math.pow((p[0] - middle[0] + (N - 1) / 2 - k) / d.pen, 2)));
        gy.push(amount * Math.exp(-0.5 * Math.pow((p[1] - middle[1] + (N - 1) / 2 - k) / d.pen, 2)));
      }
      for (var r = 0; r < N; r++) for (var c = 0; c < N; c++) out[r * N + c] += gy[r] * gx[c];
    });
    return out.map(function (v) { return 1 - Math.exp(-2.5 * v); });
  }

  /* The network: x is {v: numbers, c: channels, h: height, w: width}. */
  var run = {
    conv: function (x, l) {
      var O = l.shape[0], I = l.shape[1], K = l.shape[2], M = l.shape[3], s = l.stride, p = l.padding;
      var h = Math.floor((x.h + 2 * p[0] - K) / s[0]) + 1, w = Math.floor((x.w + 2 * p[1] - M) / s[1]) + 1;
      var v = new Float64Array(O * h * w);
      for (var o = 0; o < O; o++) for (var r = 0; r < h; r++) for (var c = 0; c < w; c++) {
        var sum = l.b ? l.b[o] : 0;
        for (var i = 0; i < I; i++) for (var y = 0; y < K; y++) {
          var row = r * s[0] + y - p[0];
          if (row < 0 || row >= x.h) continue;
          for (var z = 0; z < M; z++) {
            var col = c * s[1] + z - p[1];
            if (col >= 0 && col < x.w) sum += l.w[((o * I + i) * K + y) * M + z] * x.v[(i * x.h + row) * x.w + col];
          }
        }
        v[(o * h + r) * w + c] = sum;
      }
      return {v: v, c: O, h: h, w: w};
    },
    pool: function (x, l) {
      var h = Math.floor((x.h - l.size[0]) / l.stride[0]) + 1, w = Math.floor((x.w - l.size[1]) / l.stride[1]) + 1;
      var v = new Float64Array(x.c * h * w);
      for (var o = 0; o < x.c; o++) for (var r = 0; r < h; r++) for (var c = 0; c < w; c++) {
        var best = -Infinity;
        for (var y = 0; y < l.size[0]; y++) for (var z = 0; z < l.size[1]; z++)
          best = Math.max(best, x.v[(o * x.h + r * l.stride[0] + y) * x.w + c * l.stride[1] + z]);
        v[(o * h + r) * w + c] = best;
      }
      return {v: v, c: x.c, h: h, w: w};
    },
    scale: function (x, l) {
      var n = x.h * x.w;
      return {v: x.v.map(function (e, i) { var k = Math.floor(i / n); return e * l.w[k] + l.b[k]; }), c: x.c, h: x.h,
              w: x.w};
    },
    relu: function (x) { return {v: x.v.map(function (e) { return Math.max(e, 0); }), c: x.c, h: x.h, w: x.w}; },
    flatten: function (x) { return {v: x.v, c: x.v.length, h: 1, w: 1}; },
    linear: function (x, l) {
      var v = new Float64Array(l.shape[0]);
      for (var o = 0; o < v.length; o++) {
        v[o] = l.b ? l.b[o] : 0;
        for (var i = 0; i < l.shape[1]; i++) v[o] += l.w[o * l.shape[1] + i] * x.v[i];
      }
      return {v: v, c: v.length, h: 1, w: 1};
    }
  };
  function judge(strokes) {
    var seen = image(strokes), x = {v: seen.map(function (e) { return (e - d.mean) / d.std; }), c: 1, h: N, w: N};
    layers.forEach(function (l) { x = run[l.kind](x, l); });
    var scores = Array.from(x.v), most = Math.max.apply(null, scores), sum = 0;
    var shares = scores.map(function (s) { var e = Math.exp(s - most); sum += e; return e; });
    return {image: Array.from(seen), scores: scores, shares: shares.map(function (e) { return e / sum; })};
  }
  root.judge = judge;

  /* The surface. */
  function make(kind, parent, attributes) {
    var e = document.createElement(kind);
    Object.keys(attributes || {}).forEach(function (k) { e.setAttribute(k, attributes[k]); });
    parent.appendChild(e); return e;
  }
  var still = root.querySelector(".still");
  if (still) still.remove();
  var row = make("div", root, {"class": "row"}), left = make("div", row), right = make("div", row);
  var paper = make("canvas", left, {"class": "paper", width: 560, height: 560, tabindex: 0, role: "application",
    "aria-label": "Drawing surface. Draw with a mouse, finger or pen; or with the keyboard: arrows move the pen, " +
                  "space sets it down and lifts it, Backspace takes a stroke back, Delete clears."});
  var bar = make("div", left), said = make("p", right, {"class": "said", "aria-live": "polite"});
  var bars = make("div", right, {"class": "bars"}), rows = d.classes.map(function (name) {
    var label = make("span", bars), fill = make("span", make("span", bars), {"class": "bar"});
    var share = make("span", bars);
    label.textContent = name; fill.style.display = "block"; return {label: label, fill: fill, share: share};
  });
  var sees = make("p", right, {"class": "help"});
  sees.textContent = "What the network sees:";
  var seen = make("canvas", right, {"class": "seen", width: N, height: N, role: "img",
                                    "aria-label": "the drawing, scaled and centred, 28 by 28 pixels"});
  make("p", root, {"class": "help"}).textContent = "Draw with a mouse, a finger or a pen. Keyboard: arrows move, " +
    "space sets the pen down and lifts it, Backspace takes a stroke back, Delete clears.";
  var strokes = [], down = false, pen = [140, 140], keys = false, g = paper.getContext("2d");
  function button(words, act) {
    var b = make("button", bar, {type: "button"}); b.textContent = words; b.addEventListener("click", act);
  }
  function undo() { strokes.pop(); down = false; show(); }
  function clear() { strokes = []; down = false; pen = [140, 140]; show(); }
  button("undo", undo); button("clear", clear);
  function show() {
    var ink = getComputedStyle(root).color;
    g.setTransform(2, 0, 0, 2, 0, 0); g.clearRect(0, 0, 280, 280);
    g.strokeStyle = g.fillStyle = ink; g.lineWidth = 16; g.lineCap = g.lineJoin = "round";
    strokes.forEach(function (s) {
      g.beginPath();
      s.forEach(function (p, i) { if (i) g.lineTo(p[0], p[1]); else g.moveTo(p[0], p[1]); });
      if (s.length === 1) g.lineTo(s[0][0], s[0][1] + 0.01);
      g.stroke();
    });
    if (keys) {
      g.lineWidth = 2; g.strokeStyle = "orange"; g.beginPath();
      g.arc(pen[0], pen[1], down ? 5 : 9, 0, 7); g.stroke();
    }
    var found = judge(strokes), some = found.image.some(function (v) { return v > 0; }), best = 0;
    found.shares.forEach(function (s, i) { if (s > found.shares[best]) best = i; });
    rows.forEach(function (r, i) {
      r.fill.style.width = (some ? Math.max(100 * found.shares[i], 0.5) : 0.5) + "%";
      r.share.textContent = some ? Math.round(100 * found.shares[i]) + " %" : "";
      r.label.className = some && i === best ? "best" : "";
    });
    said.textContent = some ? "I see " + d.classes[best] + " (" + Math.round(100 * found.shares[best]) + " %)"
                            : "Draw something.";
    var view = seen.getContext("2d"), pixels = view.createImageData(N, N);
    found.image.forEach(function (v, i) {
      for (var k = 0; k < 3; k++) pixels.data[4 * i + k] = Math.round(255 * v);
      pixels.data[4 * i + 3] = 255;
    });
    view.putImageData(pixels, 0, 0);
  }
  function at(e) {
    var box = paper.getBoundingClientRect();
    return [(e.clientX - box.left) / box.width * 280, (e.clientY - box.top) / box.height * 280];
  }
  paper.addEventListener("pointerdown", function (e) {
    keys = false; down = true; strokes.push([at(e)]); paper.focus(); e.preventDefault();
    if (paper.setPointerCapture && e.isTrusted) paper.setPointerCapture(e.pointerId);
    show();
  });
  paper.addEventListener("pointermove", function (e) {
    if (down && !keys && strokes.length) { strokes[strokes.length - 1].push(at(e)); show(); }
  });
  ["pointerup", "pointercancel"].forEach(function (n) { paper.addEventListener(n, function () { down = false; }); });
  paper.addEventListener("keydown", function (e) {
    var way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
    if (way) {
      var step = e.shiftKey ? 2 : 8;
      pen = pen.map(function (v, a) { return Math.max(8, Math.min(272, v + step * way[a])); });
      keys = true;
      if (down && strokes.length) strokes[strokes.length - 1].push(pen.slice());
    } else if (e.key === " ") {
      keys = true; down = !down;
      if (down) strokes.push([pen.slice()]);
    } else if (e.key === "Backspace") { undo(); } else if (e.key === "Delete") { clear(); } else { return; }
    e.preventDefault(); e.stopPropagation(); show();
  });
  show();
})();</script>"""
