"""In a browser: keys and pointer in the attention stepper, and the colours of views in light and dark notebooks."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

import minitorch as torch
from minitorch import viz
from minitorch.viz.contact_sheet import BROWSERS

BROWSER = next((found for found in map(shutil.which, BROWSERS) if found), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs an installed Chromium")

DEEDS = """<script>
var root = document.querySelector(".minitorch-view"), log = {};
function key(name) { root.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true})); }
function said() { return root.querySelector("[aria-live]").textContent; }
function faint() { return root.querySelectorAll("g.dim").length; }
function paper() { var s = getComputedStyle(root); return [s.backgroundColor, s.color]; }
log.start = [said(), faint()];
key("ArrowRight"); log.right = [said(), faint()];
key("End"); log.end = [said(), faint(), root.querySelectorAll("g.on").length];
key("Home"); log.home = [said(), faint()];
var cell = root.querySelector('g[data-k^="w1-0"]');
cell.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
log.near = Array.from(root.querySelectorAll("g.near")).map(function (e) { return e.getAttribute("data-k"); });
log.focus = root.tabIndex; log.title = cell.querySelector("title").textContent;
document.body.setAttribute("data-jp-theme-light", "true"); log.light = paper();
document.body.setAttribute("data-jp-theme-light", "false"); log.dark = paper();
var out = document.createElement("pre"); out.id = "log"; out.textContent = JSON.stringify(log);
document.body.appendChild(out);
</script>"""


def test_attention_by_keys_and_pointer_in_light_and_dark(tmp_path):
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    page = tmp_path / "attention.html"
    page.write_text("<!DOCTYPE html><html><body>" + viz.attention(x, x, x, tokens="ab").html() + DEEDS
                    + "</body></html>", encoding="utf-8")
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                           "--disable-background-networking", "--disable-component-update", "--disable-sync",
                           f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
                          capture_output=True, text=True, timeout=120, check=True)
    log = json.loads(unescape(re.search(r'<pre id="log">(.*?)</pre>', done.stdout, re.DOTALL).group(1)))
    assert log["start"][0].startswith("Each token asks") and log["start"][1] == 6
    assert log["right"][0].startswith("Each token also says") and log["right"][1] == 5
    assert log["end"][0].startswith("Query b") and log["end"][1] == 0 and log["end"][2] == 5 * 2
    assert log["home"] == log["start"]
    assert {"w1-0 wr1 wc0", "s1-0 sr1 sc0", "q1-0 qr1 qc0", "v0-1 vr0 vc1", "o1-0 or1 oc0"} <= set(log["near"])
    assert "k1-0 kr1 kc0" not in log["near"] and log["focus"] == 0
    assert abs(float(log["title"]) - float(viz.attention(x, x, x).weights[1, 0])) < 1e-5
    assert log["light"] == ["rgb(255, 255, 255)", "rgb(27, 27, 27)"]
    assert log["dark"] == ["rgb(24, 26, 31)", "rgb(236, 236, 234)"]
