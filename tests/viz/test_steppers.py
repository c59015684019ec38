"""Attention and forward passes as steppers, gradients of computed values, folded blocks, colours for dark pages."""

import re

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import minitorch as torch
from minitorch import nn, viz
from minitorch.nn import functional as F
from minitorch.theme import DARK, heat_map, themed
from tests.helpers.view_checks import check


# ------------------------------------------------------------------ attention
@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.booleans(), st.integers(0, 9))
def test_attention_is_that_of_the_function(rows, columns, width, is_causal, seed):
    torch.manual_seed(seed)
    q, k, v = torch.randn(rows, width), torch.randn(columns, width), torch.randn(columns, 3)
    mask = None if is_causal else torch.rand(rows, columns) < 0.8
    if mask is not None:
        mask[:, 0] = True
    view = viz.attention(q, k, v, mask, is_causal=is_causal)
    wanted = F.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal)
    np.testing.assert_allclose(view.output, wanted.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(view.weights.sum(1), 1.0)
    assert str(view).count("\n") == rows


def test_attention_as_a_view():
    q = torch.randn(2, 3, 5, 4).bfloat16()
    view = viz.attention(q, q, q, torch.zeros(5, 5), tokens="abcde", head=2, scale=1.0)
    source = check(view)
    assert "data-lit" in source and "weights = softmax" in source
    np.testing.assert_allclose(view.scores, (q[0, 2].float() @ q[0, 2].float().T).numpy(), rtol=1e-5)
    assert len(view.steps()) == 7 + 5 and view.steps()[0]["dim"][-1] == "all-o"
    check(viz.attention(torch.randn(40, 30), torch.randn(50, 30), torch.randn(50, 20)))


@pytest.mark.parametrize("call, words", [
    (lambda x: viz.attention(x[0], x, x), "query"), (lambda x: viz.attention(x, x[:, :2], x), "queries"),
    (lambda x: viz.attention(x, x, x[:2]), "queries"), (lambda x: viz.attention(x, x, x, x[:2]), "mask"),
    (lambda x: viz.attention(x, x, x, tokens="ab"), "tokens"),
    (lambda x: viz.attention(*[x.expand(2, 4, 3)] * 3, head=2), "heads")])
def test_attention_refuses_what_does_not_fit(call, words):
    with pytest.raises(ValueError, match=words):
        call(torch.ones(4, 3))


def test_attention_maps_of_heads():
    pytest.importorskip("matplotlib", reason="these pictures are drawn by matplotlib").use("Agg")
    axes = viz.attention_map(torch.eye(3).expand(2, 3, 3), title="layer 1")
    assert [ax.get_title() for ax in axes] == ["layer 1 head 0", "layer 1 head 1"]
    with pytest.raises(ValueError, match="as many axes"):
        viz.attention_map(torch.ones(3, 2, 2), ax=axes)


# ------------------------------------------------------------------ forward passes
def transformer():
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True)
    return nn.Sequential(nn.Embedding(9, 8), nn.TransformerEncoder(block, 2), nn.Linear(8, 9))


def test_a_forward_pass_is_shown_and_leaves_no_trace():
    net, x = transformer().train(), torch.randint(0, 9, (2, 5))
    view = viz.forward(net, x, tokens="abcde")
    check(view)
    assert net.training and net[1].layers[0].training and not any(m._forward_hooks for m in net.modules())
    kinds = [s.kind for s in view.stages]
    assert kinds[0] == "Embedding" and kinds[-1] == "Sequential" and "Dropout" not in kinds
    with torch.no_grad():
        np.testing.assert_allclose(view.stages[-1].output, net.eval()(x)[0].numpy(), rtol=1e-5, atol=1e-6)
    looked = [s for s in view.stages if s.weights is not None]
    assert [s.path for s in looked] == ["1.layers.0.self_attn", "1.layers.1.self_attn"]
    np.testing.assert_allclose(looked[0].weights.sum(1), 1.0, rtol=1e-5)
    assert view.stages[-1].parameters == sum(p.numel() for p in net.parameters())


def test_attention_within_a_forward_pass():
    class Head(nn.Module):
        def forward(self, x):
            return F.scaled_dot_product_attention(x, x, x, is_causal=True)
    x = torch.randn(1, 4, 6)
    for made in (x, x.bfloat16()):
        view = viz.forward(nn.Sequential(Head()), made)
        np.testing.assert_allclose(view.stages[0].weights, viz.attention(made, made, made, is_causal=True).weights,
                                   atol=2e-2 if made is not x else 1e-5)


def test_forward_of_images_and_of_nothing():
    net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 2))
    before = net[1].running_mean.clone()
    view = viz.forward(net, torch.randn(2, 1, 8, 8))
    check(view)
    assert view.stages[0].output.shape == (6, 6) and torch.equal(net[1].running_mean, before)

    class Empty(nn.Module):
        def forward(self, x):
            return x
    with pytest.raises(RuntimeError, match="Empty"):
        viz.forward(Empty(), torch.ones(2))


# ------------------------------------------------------------------ gradients of computed values
def expression(a, b, c):
    d = a * b + c
    return d, (d * a).tanh() + d.exp() / b


def test_computed_values_show_their_gradients():
    for drawn in (False, True):
        leaves = [torch.tensor(v, requires_grad=True) for v in (0.3, -0.7, 0.2)]
        d, y = expression(*leaves)
        if drawn:
            d.retain_grad()
            y.graph()
        y.backward()
        names = {"d": d}
        found = {v.name: v.grad for v in viz.graph(y, params=names).vertices}
        if drawn:
            np.testing.assert_allclose(found["d"], d.grad.item(), rtol=1e-6)
        else:
            a, b, c = (x.item() for x in leaves)
            value = a * b + c
            np.testing.assert_allclose(found["d"], a * (1 - np.tanh(value * a) ** 2) + np.exp(value) / b, rtol=1e-5)
        check(viz.graph(y, params=names))


def test_gradients_that_do_not_agree_are_not_shown():
    x = torch.tensor(2.0, requires_grad=True)
    y = (x * x).exp()
    y.backward()
    x.grad.mul_(2)                                         # not that of the pass
    assert all(v.grad is None for v in y.graph().vertices if v.kind == "op")
    x.grad.div_(2)
    assert all(v.grad is not None for v in y.graph().vertices if v.kind == "op")
    with torch.no_grad():
        x.add_(1)
    assert all(v.grad is None for v in y.graph().vertices if v.kind == "op")


# ------------------------------------------------------------------ folding
def test_blocks_that_repeat_are_folded():
    net = nn.Sequential(*[m for _ in range(20) for m in (nn.Linear(4, 4), nn.ReLU())], nn.Linear(4, 2))
    graph = viz.graph(net(torch.randn(3, 4)).sum(), net)
    check(graph)
    assert "× 18 the same" in str(graph) and len(graph.vertices) < 20 < len(graph.unfold().vertices)
    whole = graph.collapse("Module")
    assert "× 17 the same" in str(whole) and len(whole.unfold().vertices) > 40
    assert "Linear · 20 parameters" in str(whole) and "3×4 → 3×4" in str(whole)


def test_what_differs_is_not_folded():
    x = torch.randn(4, requires_grad=True)
    y = x
    for k in range(9):
        y = (y * 2).tanh() + (x if k in (1, 2, 5, 7) else y)       # no block is like the next
    assert len(y.graph().vertices) == len(y.graph().unfold().vertices)
    short = ((x * 2).tanh() * 2).tanh()
    assert len(short.graph().vertices) == 5


# ------------------------------------------------------------------ colours
def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ink", ["#1b1b1b", "#6b6b6b", "#0072b2", "#b34700", "#555555"])
@pytest.mark.parametrize("paper", ["#ffffff", "#fafaf8", "#eaf4fb", "#fdf1e7", "#f3f3f3"])
def test_words_can_be_read_on_light_and_dark_pages(ink, paper):
    assert contrast(ink, paper) >= 4.5 and contrast(DARK[ink], DARK[paper]) >= 4.5


@pytest.mark.parametrize("tint", ["#cfe3f2", "#fbdcc8", "#c9ebdf", "#f4dceb", "#fbe8c0", "#d9eefb", "#fbf8c9"])
def test_words_can_be_read_on_tints(tint):
    assert contrast("#1b1b1b", tint) >= 4.5 and contrast(DARK["#1b1b1b"], DARK[tint]) >= 4.5


def test_colours_become_variables():
    source = themed("#a", '<p style="color:#1B1B1B;background:#123456">#0072B2</p>')
    assert "#123456" in source and source.count("var(--m") == 2 and "light-dark(#1b1b1b," in source
    assert "[data-jp-theme-light=false]" in source


def test_views_use_no_colour_that_dark_pages_lack():
    x = torch.randn(3, 3, requires_grad=True)
    for view in (x.graph if x.node else (x * 2).sum().graph(), viz.layout(x), viz.attention(x, x, x)):
        body = re.sub(r"<style>.*?</style>", "", view._repr_html_(), flags=re.DOTALL)
        assert not re.findall(r"#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b", body)


# ------------------------------------------------------------------ tensors as tables
def test_cells_are_short_and_tell_all_on_hover():
    source = torch.tensor([[1.23456, -0.000123], [12345.678, 2.0]])._repr_html_()
    assert ">1.23<" in source and ">-1e-04<" in source and ">1e+04<" in source and "1.2346e+00" in source
    assert "nowrap" in source


def test_heat_maps_of_large_matrices():
    x = torch.randn(3, 300, 40)
    source = x._repr_html_()
    assert "data:image/png;base64," in source and "heat map of 300 x 40" in source and len(source) < 200_000
    assert "data:image" not in torch.randn(5, 5)._repr_html_()
    odd = np.full((200, 3), np.nan)
    odd[50] = np.inf
    assert "heat map of 200 x 3" in heat_map(odd)


def test_heat_maps_are_images():
    image = pytest.importorskip("PIL.Image", reason="Pillow reads them")
    import base64
    import io
    matrix = np.zeros((2, 3))
    matrix[0, 0], matrix[1, 2], matrix[0, 1] = 1.0, -1.0, np.nan
    raw = base64.b64decode(re.search(r"base64,([^\"]+)", heat_map(matrix))[1])
    pixels = np.asarray(image.open(io.BytesIO(raw)).convert("RGB")).astype(int)
    blue, orange, white, grey = pixels[0, 0], pixels[1, 2], pixels[1, 1], pixels[0, 1]
    assert blue[2] > blue[0] and orange[0] > orange[2] and (white == 255).all() and len(set(grey)) == 1


# ------------------------------------------------------------------ everything can be saved
def test_whatever_a_notebook_shows_can_be_saved(tmp_path):
    net = nn.Linear(3, 4)
    for i, thing in enumerate((torch.ones(2, 2), net, nn.summary(net, torch.ones(1, 3)))):
        page = viz.view(thing).save(tmp_path / f"{i}.html").read_text(encoding="utf-8")
        assert "color-scheme" in page and type(thing).__name__ in page
        assert viz.view(thing).save(tmp_path / f"{i}.txt").read_text(encoding="utf-8").strip() == str(thing)
    assert nn.summary(net, torch.ones(1, 3)).save(tmp_path / "s.txt").read_text().startswith("module")
    with pytest.raises(NotImplementedError, match="html"):
        viz.view(net).save(tmp_path / "a.svg")
    with pytest.raises(TypeError, match="no view"):
        viz.view(3)
