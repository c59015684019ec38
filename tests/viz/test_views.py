"""Views: they are whole, self-contained and small, and what they show is what is the case."""

import re
import xml.etree.ElementTree as ElementTree

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import minitorch as torch
from minitorch import nn, viz
from minitorch.viz.drawing import brief, number
from tests.helpers.view_checks import MOST, OUTSIDE, Balance, check, diamond


# ------------------------------------------------------------------ words and numbers
def test_numbers_are_short():
    assert [number(v) for v in (1, 2.0, 0.333333, float("inf"), True)] == ["1", "2", "0.3333", "inf", "True"]
    assert brief(np.zeros((0, 2))) == "[0, 2], empty" and brief(np.arange(9.0)) == "[9], 0 to 8"


# ------------------------------------------------------------------ memory
def random_view(random):
    x = torch.arange(24.0).reshape(random.choice([(24,), (4, 6), (2, 3, 4), (24, 1)]))
    steps = [lambda x, d: x.flatten()[d:], lambda x, d: x.unsqueeze(0).expand(2, *x.shape) if x.ndim < 3 else x,
             lambda x, d: x.transpose(0, d), lambda x, d: x.narrow(d, 0, max(x.shape[d] - 1, 1)),
             lambda x, d: x.select(d, 0), lambda x, d: x[(slice(None),) * d + (slice(None, None, 2),)]]
    for _ in range(random.randrange(4)):
        x = random.choice(steps if x.ndim else steps[:2])(x, random.randrange(x.ndim) if x.ndim else 0)
    return x


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False))
def test_layout_of_views(random):
    x = random_view(random)
    view = viz.layout(x)
    check(view)
    memory = view.memory
    buffer = viz.storage.values_at(x, 0, memory.size)
    drawn = list(view.elements())
    assert len(drawn) == x.numel() or view.left_out
    for index, position in drawn:
        assert buffer[position] == x[index].item()
    assert memory.strides == x.stride() and memory.offset == x.storage_offset()
    first, last = memory.span()
    assert {p for _, p in drawn} <= set(range(first, last))
    assert view.left_out or not drawn or {first, last - 1} <= {p for _, p in drawn}


def test_layout_as_a_method():
    x = torch.arange(6).reshape(2, 3)
    assert x.layout == torch.strided and torch.zeros(2, layout=x.layout).shape == (2,)
    text = str(x.t().layout())
    assert "(1, 3) elements = (8, 24) bytes" in text and "contiguous: no" in text and "0 writes" in text
    x.add_(1)
    assert "version: 1 write in place" in str(x.layout()) and str(x.layout()).startswith("x:")


def test_layout_of_odd_tensors():
    for x in (torch.zeros(0, 3), torch.tensor(5), torch.ones(2, dtype=torch.bool), torch.zeros(1000, 1000),
              torch.zeros(3, 4, 5, 6, 2), torch.tensor(np.asfortranarray(np.arange(6.0).reshape(2, 3))),
              torch.tensor([float("nan"), float("inf"), 1e-30, -123456.0])):
        check(viz.layout(x))
    assert "not drawn: 988 more rows, 984 more columns" in viz.layout(torch.zeros(1000, 1000)).svg()


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_alias_says_what_numpy_says(random):
    x = torch.arange(12.0)
    pieces = {"x": x, "y": x[random.randrange(6):][::random.randrange(1, 4)],
              "z": x.reshape(3, 4)[:, random.randrange(4)], "w": x.clone()}
    view = viz.alias(**pieces)
    check(view)
    common = {(a, b): n for a, b, n in view.pairs()}
    for (a, b), n in common.items():
        assert (n > 0) == np.shares_memory(pieces[a].numpy(), pieces[b].numpy())
    assert len(common) == 3 and "w has memory of its own" in str(view)


def test_alias_names_variables():
    base = torch.arange(6)
    odd = base[1::2]
    assert str(viz.alias(base, odd)).startswith("base, odd share memory: odd lies in base")
    assert str(viz.alias(base, base[3:])).startswith("base, base[3:] share memory: base[3:] lies in base")
    assert str(base.reshape(2, 3).layout()).startswith("base.reshape(2, 3): memory layout")
    views = [base[:2], base[2:]]
    assert "tensor 0, tensor 1 are pieces" in str(viz.alias(*views))
    assert "without an element in common" in str(viz.alias(a=base[:2], b=base[3:]))
    assert "2 elements in common" in str(viz.alias(a=base[:4], b=base[2:]))
    with pytest.raises(TypeError, match="alias"):
        viz.alias()


# ------------------------------------------------------------------ flow
def test_flow_statistics():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x, seen = torch.randn(16, 4), []
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    with viz.flow(net) as f:
        for _ in range(7):
            opt.zero_grad()
            h = net[0](x).relu().detach().numpy()                             # the same numbers, by hand
            before = net[2].weight.detach().numpy().copy()
            out = net(x)
            out.retain_grad()
            (out * out).mean().backward()
            opt.step()
            moved = np.linalg.norm(net[2].weight.detach().numpy() - before) / np.linalg.norm(before)
            seen.append((h, out.grad.numpy().copy(), moved))
    calls = f.activations["1"]
    assert f.steps == 7 and f.layers == ["0", "1", "2"] and len(calls) == 7
    for i, (h, g, moved) in enumerate(seen):
        s = calls[i]
        np.testing.assert_allclose([s.mean, s.std, s.norm, s.zeros],
                                   [h.mean(), h.std(), np.linalg.norm(h), (h == 0).mean()], rtol=1e-5)
        np.testing.assert_allclose(f.gradients["2"][i].std, g.std(), rtol=1e-5)
        np.testing.assert_allclose(f.updates["2.weight"][i], moved, rtol=1e-5)
        assert s.counts.sum() == h.size
    check(f)
    check(f.histograms())
    check(f.histograms("gradients"))
    assert not net._forward_pre_hooks and not net[0]._forward_hooks           # nothing is left behind
    with pytest.raises(ValueError, match="activations"):
        f.histograms("weights")


def test_flow_of_many_layers_and_steps_stays_small():
    for depth, steps in ((30, 20), (5, 130)):
        net = nn.Sequential(*[nn.Linear(3, 3) for _ in range(depth)])
        with viz.flow(net) as f:
            for _ in range(steps):
                net(torch.randn(4, 3)).sum().backward()
        check(f)
        check(f.histograms())
        assert ("and 18 more layers" in f.histograms().svg()) is (depth == 30)
        assert ("53 more not drawn" in f.svg()) is (depth == 30)
    assert f.histograms().table("0").shape == (24, 120)                       # 130 steps, averaged in 120 groups


def test_flow_leaves_validation_out():
    net = nn.Sequential(nn.Linear(2, 2))
    with viz.flow(net) as f:
        for _ in range(3):
            net(torch.ones(1, 2)).sum().backward()
            with torch.no_grad():
                net.eval()(torch.ones(5, 2))
            net.train()
    assert f.steps == 3 == len(f.activations["0"]) and len(f.updates["0.weight"]) == 3


def test_flow_that_has_seen_nothing():
    with viz.flow(nn.Linear(2, 2)) as f:
        pass
    check(f)
    check(f.histograms())


# ------------------------------------------------------------------ kernels
def test_steps_costs_and_conflicts():
    apart = [viz.Access(0, t, 3, "load", address=128 * t) for t in range(32)]
    together = [viz.Access(0, t, 4, "load", address=4 * t) for t in range(32)]
    same_bank = [viz.Access(0, t, 5, "store", "shared", 128 * t) for t in range(32)]
    broadcast = [viz.Access(0, t, 6, "load", "shared", 0) for t in range(32)]
    view = viz.kernel(apart + together + [viz.Access(0, t, 4, "barrier") for t in range(32)] + same_bank
                      + [viz.Access(0, t, 5, "barrier") for t in range(32)] + broadcast)
    found = {(s.line, s.kind): (s.sectors, s.ideal, s.conflict) for s in view.steps}
    assert found[3, "load"] == (32, 4, 1) and found[4, "load"] == (4, 4, 1)
    assert found[5, "store"] == (0, 0, 32) and found[6, "load"] == (0, 0, 1)
    check(view)
    assert "32 turns" in str(view) and "no races" in str(view)


def test_races_are_found_and_barriers_stop_them():
    def shift(t, x, tile):
        tile[t.thread] = x[t.thread]
        if barrier:
            yield
        x[t.thread] = tile[(t.thread + 1) % t.threads]

    for barrier in (False, True):
        x = [float(i) for i in range(8)]
        records = viz.emulate(shift, 1, 8, {"x": x}, {"tile": 8})
        view = viz.kernel(records, shift)
        check(view)
        assert bool(view.races) is not barrier and ("no races" in str(view)) is barrier
        if barrier:
            assert x == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0]
        else:
            assert {a.array for pair in view.races for a in pair} == {"tile"}


def test_atomics_do_not_race_but_stores_of_two_blocks_do():
    def count(t, out):
        out.add(0, 1)

    def clobber(t, out):
        out[0] = t.index

    out = [0]
    assert not viz.kernel(viz.emulate(count, 3, 4, {"out": out})).races and out == [12]
    assert viz.kernel(viz.emulate(clobber, 2, 1, {"out": [0]})).races


def test_emulated_threads_go_step_by_step_and_are_told_of_mistakes():
    def double(t, x):
        if t.index < len(x):
            x[t.index] = 2 * x[t.index]

    x = [1, 2, 3]
    view = viz.kernel(viz.emulate(double, 2, 2, {"x": x}), double)
    shown = [int(n) for n in re.findall(r'data-k="line(\d+)"', view.html())]
    assert shown == sorted(shown) and len(shown) == 3                         # the source, line by line
    assert x == [2, 4, 6] and [(s.kind, len(s.accesses)) for s in view.steps] == [
        ("load", 2), ("store", 2), ("load", 1), ("store", 1)]
    with pytest.raises(IndexError, match="thread 1 of block 0.*guard"):
        viz.emulate(lambda t, x: x[t.index], 1, 2, {"x": [0]})

    def stuck(t, x):
        if t.thread:
            yield

    with pytest.raises(RuntimeError, match="every thread must reach"):
        viz.emulate(stuck, 1, 2, {"x": []})


def test_kernel_takes_dicts_and_three_dimensional_indices():
    records = [dict(block=(0, 0, 0), thread=(x, y, 0), line=1, kind="write", address=4 * (2 * y + x))
               for y in range(2) for x in range(2)]
    view = viz.kernel(records)
    assert [a.thread for a in view.records] == [0, 1, 2, 3] and len(view.steps) == 1
    with pytest.raises(ValueError, match="kind"):
        viz.kernel([dict(block=0, thread=0, line=1, kind="jump")])


def test_large_kernels_are_elided():
    def saxpy(t, x, y):
        y[t.index] = 3 * x[t.index] + y[t.index]

    records = viz.emulate(saxpy, 16, 128, {"x": [1.0] * 2048, "y": [0.0] * 2048})
    view = viz.kernel(records, saxpy)
    source = check(view)
    assert "more blocks" in source and "more lines" in source


# ------------------------------------------------------------------ files
def test_save(tmp_path):
    _, _, y = diamond()
    view = y.graph()
    svg = view.save(tmp_path / "g.svg").read_text()
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    page = view.save(tmp_path / "g.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "http" not in page
    assert view.save(tmp_path / "g.txt").read_text() == str(view) + "\n"
    with pytest.raises(ValueError, match="svg"):
        view.save(tmp_path / "g.png")


def test_views_are_shown_twice_without_sharing_ids():
    _, _, y = diamond()
    view = viz.replay(y)
    check(type("Pair", (), {"_repr_html_": lambda self: view._repr_html_() + view._repr_html_(),
                            "__str__": lambda self: "pair", "__repr__": lambda self: "pair"})(), svg=False)


# ------------------------------------------------------------------ by matplotlib
def test_plots():
    matplotlib = pytest.importorskip("matplotlib", reason="these pictures are drawn by matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    lines = viz.curves({"train": [torch.tensor(1.0 / (i + 1)) for i in range(30)], "test": np.ones(30)}, smooth=5,
                       log=True)
    assert [line.get_label() for line in lines.get_lines() if not line.get_label().startswith("_")] == ["train", "test"]
    smooth = lines.get_lines()[1]
    np.testing.assert_allclose(smooth.get_ydata()[0], np.mean([1 / (i + 1) for i in range(5)]))
    assert smooth.get_xdata()[0] == 4
    axes = viz.feature_maps(torch.randn(2, 10, 4, 4))
    assert axes.shape == (2, 8) and sum(bool(ax.images) for ax in axes.ravel()) == 10
    ax = viz.attention_map(torch.eye(3), list("abc"), list("xyz"))
    assert [t.get_text() for t in ax.get_xticklabels()] == list("xyz")
    surface = viz.loss_surface(lambda x, y: x ** 2 + y ** 2, path=torch.ones(4, 2), points=10)
    assert len(surface.get_lines()) == 3
    net = nn.Sequential(nn.Linear(2, 4), nn.Dropout(), nn.Linear(4, 3)).train()
    viz.decision_boundary(net, torch.randn(20, 2), torch.arange(20) % 3, steps=12)
    assert net.training                                                       # put back
    viz.decision_boundary(lambda p: p[:, 0], torch.randn(9, 2), torch.arange(9) % 2, steps=12)
    for call in (lambda: viz.feature_maps(torch.ones(3)), lambda: viz.attention_map(torch.ones(2, 2, 2, 2))):
        with pytest.raises(ValueError, match="draws"):
            call()
    plt.close("all")


def test_plots_without_matplotlib(monkeypatch):
    import sys
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        viz.curves([1, 2])


# ------------------------------------------------------------------ all of them
def test_contact_sheet(tmp_path, monkeypatch, capsys):
    from minitorch.viz import __main__ as command
    from minitorch.viz import contact_sheet
    taken = []
    monkeypatch.setattr(contact_sheet, "screenshot", lambda path, *how: taken.append(path))
    assert command.main(["contact-sheet", str(tmp_path / "sheet")]) == 0
    pages = list((tmp_path / "sheet").glob("*.html"))
    assert len(set(taken)) == len(pages) - 1 >= 20 and str(tmp_path / "sheet" / "index.html") in capsys.readouterr().out
    for path in pages:
        source = path.read_text()
        parser = Balance()
        parser.feed(source)
        assert not OUTSIDE.search(source), path.name
        assert path.name == "index.html" or len(source) < MOST


def test_screenshots_need_a_browser(monkeypatch, tmp_path):
    from minitorch.viz import contact_sheet
    monkeypatch.setattr(contact_sheet.shutil, "which", lambda name: None)
    assert contact_sheet.screenshot(tmp_path / "a.html", tmp_path / "a.png") is False


def test_gradients_are_counted_by_powers_of_ten():
    net = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Identity())
    with viz.flow(net) as f:
        (net(torch.ones(2, 3)) * 2e-4).sum().backward()
    counts = f.gradients["1"][0].counts
    assert counts.sum() == 6 and counts[12] == 6                              # 1e-4 is halfway from 1e-10 to 100
    assert "1e-10 at the bottom" in f.histograms("gradients").svg()
