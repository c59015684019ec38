"""The stepper's script, run by a browser: buttons, slider, keys and pointer do what they say."""

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

# A reader's deeds, and after each: what is said, which boxes are lit, which gradients stand in the boxes.
DEEDS = """<script>
var root = document.querySelector(".minitorch-view"), log = [];
function named(label) { return root.querySelector('[aria-label="' + label + '"]'); }
function note() {
  log.push({said: root.querySelector("[aria-live]").textContent,
            lit: Array.from(root.querySelectorAll("g.on")).map(function (e) { return e.getAttribute("data-k"); }),
            texts: Array.from(root.querySelectorAll("text[data-k]")).map(function (e) { return e.textContent; })});
}
note();
named("step forward").click(); note();
named("step forward").click(); note();
named("step back").click(); note();
named("naive recursion").click();
for (var i = 0; i < 9; i++) named("step forward").click();
note();
root.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true})); note();
var slider = named("step"); slider.value = 0; slider.dispatchEvent(new Event("input")); note();
root.querySelector("g[data-k=v0]").dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
log.push(root.querySelectorAll(".near").length);
var out = document.createElement("pre"); out.id = "log"; out.textContent = JSON.stringify(log);
document.body.appendChild(out);
</script>"""


def test_stepping_through_a_backward_pass(tmp_path):
    x = torch.tensor(3.0, requires_grad=True)
    a = x * 2
    y = a * a
    page = tmp_path / "replay.html"
    page.write_text("<!DOCTYPE html><html><body>" + viz.replay(y).html() + DEEDS + "</body></html>", encoding="utf-8")
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                           "--disable-background-networking", "--disable-component-update", "--disable-sync",
                           f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
                          capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(unescape(re.search(r'<pre id="log">(.*?)</pre>', done.stdout, re.DOTALL).group(1)))
    start, one, two, back, naive, key, slid, near = found
    assert start["said"].startswith("right order: before") and start["texts"] == ["", "", "g: 1"]
    assert one["said"].startswith("step 1: y = mul") and one["lit"] == ["v2"] and one["texts"] == ["", "g: 12", "g: 1"]
    assert two["lit"] == ["v1"] and two["texts"] == ["g: 24", "g: 12", "g: 1"]
    assert back == one
    assert naive["said"] == "naive recursion is wrong: x gets 36, right is 24" and naive["texts"][0] == "g: 36"
    assert key["said"].startswith("step 3") and slid["said"].startswith("naive recursion: before") and near == 1
