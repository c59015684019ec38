"""Tensors in other libraries: NumPy, matplotlib, einops, pandas, scikit-learn, tqdm, TensorBoard."""

import subprocess
import sys

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn


@pytest.fixture
def x():
    return torch.arange(24.0).reshape(2, 3, 4)


def test_numpy(x):
    assert np.array_equal(np.asarray(x), x.numpy()) and np.asarray(x, np.float64).dtype == np.float64
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.concatenate([x, x]).shape == (4, 3, 4)
    assert np.allclose(np.sin(x), x.sin()) and float(np.float32(x[0, 0, 1])) == 1.0
    with pytest.raises(RuntimeError, match="detach"):
        np.asarray(x.clone().requires_grad_())


def test_python(x):
    assert sorted(torch.tensor([3, 1, 2])) == [1, 2, 3] and sum(torch.tensor([1, 2])).item() == 3
    assert max(torch.tensor([1.0, 5.0])).item() == 5 and list(range(5))[torch.tensor(2)] == 2
    assert f"{torch.tensor(1.25):.1f}" == "1.2" and {x: 1}[x] == 1
    assert [list(map(float, row)) for row in zip(*torch.ones(2, 2))] == [[1.0, 1.0], [1.0, 1.0]]


def test_matplotlib(x, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(2, 3)
    line, = axes[0, 0].plot(x[0, 0])
    assert line.get_ydata().tolist() == [0, 1, 2, 3]
    axes[0, 0].plot(x[0, 0], x[0, 1], label="two tensors")
    axes[0, 0].plot(list(x[0, 0]))
    axes[0, 1].imshow(x[0])
    axes[0, 2].hist(x.flatten(), bins=5)
    axes[1, 0].scatter(x[0, 0], x[0, 1], c=x[0, 2])
    axes[1, 1].bar(torch.arange(3), x[0, :, 0])
    axes[1, 2].fill_between(torch.arange(4), x[0, 0], x[0, 1])
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)
    with pytest.raises(RuntimeError, match="detach"):
        plt.plot(x[0, 0].clone().requires_grad_())


def test_einops(x):
    einops = pytest.importorskip("einops")
    assert einops.rearrange(x, "b h w -> w (b h)").equal(x.permute(2, 0, 1).reshape(4, 6))
    assert einops.rearrange(x, "b (h two) w -> b two h w", two=3).shape == (2, 3, 1, 4)
    for name in ("min", "max", "sum", "mean", "prod"):
        expected = getattr(np, name)(x.numpy(), axis=(0, 2))
        assert np.allclose(einops.reduce(x, "b h w -> h", name), expected), name
    assert einops.repeat(x[0], "h w -> h (w 2)").shape == (3, 8)
    assert einops.repeat(x[0], "h w -> n h w", n=5).shape == (5, 3, 4)
    assert einops.rearrange([x, x], "n b h w -> b n h w").shape == (2, 2, 3, 4)
    assert einops.einsum(x, x, "b i j, b k j -> b i k").equal(x @ x.mT)
    packed, shapes = einops.pack([x, x[:, 0]], "b * w")
    assert packed.shape == (2, 4, 4) and einops.unpack(packed, shapes, "b * w")[1].equal(x[:, 0])
    assert einops.parse_shape(x, "b _ w") == {"b": 2, "w": 4}
    assert einops.asnumpy(x) is not None
    with pytest.raises(einops.EinopsError, match="can't divide"):
        einops.rearrange(x, "b (h five) w -> b h five w", five=5)


def test_einops_and_gradients(x):
    einops = pytest.importorskip("einops")
    x.requires_grad_()
    (einops.reduce(x, "b h w -> b w", "mean") ** 2).sum().backward()
    assert np.allclose(x.grad, np.repeat(2 / 3 * x.detach().numpy().mean(1, keepdims=True), 3, axis=1))


@pytest.mark.parametrize("order", [
    "import minitorch, einops", "import einops, minitorch",
    "import einops, numpy; einops.rearrange(numpy.ones((1, 1)), 'a b -> b a'); import minitorch"])
def test_einops_in_either_order(order):
    pytest.importorskip("einops")
    code = f"{order}; print(einops.rearrange(minitorch.ones(2, 3), 'a b -> b a').shape)"
    assert _run(code) == "torch.Size([3, 2])"


def test_einops_layers_where_torch_means_minitorch():
    pytest.importorskip("einops")
    _run("import minitorch.cli.alias; minitorch.cli.alias.install(); import torch\n"
         "from einops.layers.torch import EinMix, Rearrange, Reduce\n"
         "net = torch.nn.Sequential(Rearrange('b (c h) w -> b c h w', c=2), Reduce('b c h w -> b c', 'max'),\n"
         "    EinMix('b c -> b d', weight_shape='c d', bias_shape='d', c=2, d=5))\n"
         "y = net(torch.randn(3, 4, 5)); y.sum().backward(); assert y.shape == (3, 5)\n"
         "assert net[2].weight.grad.shape == (2, 5) and type(y) is torch.Tensor and 'minitorch' in torch.__file__")


def test_pandas(x):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(x[0], columns=list("abcd"))
    assert frame["b"].tolist() == [1, 5, 9] and frame.dtypes["a"] == np.float32
    assert pd.DataFrame({"a": x[0, :, 0], "n": torch.arange(3)})["n"].tolist() == [0, 1, 2]
    assert pd.Series(x[0, 0]).mean() == 1.5
    assert torch.tensor(frame["b"]).tolist() == [1, 5, 9]
    assert torch.tensor(frame.values).equal(x[0]) and torch.from_numpy(frame.to_numpy().copy()).equal(x[0])


def test_sklearn():
    metrics = pytest.importorskip("sklearn.metrics")
    linear_model = pytest.importorskip("sklearn.linear_model")
    target, found = torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0, 1, 0, 0, 1])
    scores = torch.tensor([0.1, 0.9, 0.4, 0.2, 0.8])
    assert metrics.accuracy_score(target, found) == 0.8
    assert metrics.confusion_matrix(target, found).tolist() == [[2, 0], [1, 2]]
    assert metrics.f1_score(target, found) == pytest.approx(0.8) and metrics.roc_auc_score(target, scores) == 1
    assert metrics.mean_squared_error(target.float(), scores) == pytest.approx(((target - scores) ** 2).mean().item())
    fit = linear_model.LinearRegression().fit(torch.arange(5.0).unsqueeze(1), 2 * torch.arange(5.0))
    assert fit.predict(torch.tensor([[7.0]])) == pytest.approx(14, abs=1e-4)


def test_tqdm(x):
    tqdm = pytest.importorskip("tqdm")
    bar = tqdm.tqdm(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=1), disable=True)
    assert len(bar) == 2 and len(list(bar)) == 2
    assert len(tqdm.tqdm(x, disable=True)) == 2
    with tqdm.tqdm(range(2), file=__import__("io").StringIO()) as bar:
        bar.set_postfix(loss=x.mean())
        assert "11.5" in bar.postfix


def events(folder):
    """The values written into the event files right in `folder`: {tag: [(step, value)]}."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    found = {}
    for file in sorted(folder.glob("events*")):
        for event in LegacyEventFileLoader(str(file)).Load():
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value))
    return found


def test_tensorboard(tmp_path, x):
    pytest.importorskip("tensorboard")
    from minitorch.utils.tensorboard import SummaryWriter
    with SummaryWriter(tmp_path / "run") as writer:
        for step in range(3):
            writer.add_scalar("loss", torch.tensor(1.0 / (step + 1)), step)
        writer.add_scalar("exact", 0.1, 7, new_style=True, double_precision=True)
        writer.add_scalars("both", {"train": 1.0, "test": torch.tensor(2.0)}, 1)
        writer.add_histogram("weights", nn.Linear(4, 5).weight, 2)
        writer.add_histogram("wide", torch.tensor([-1.0, 0.0, 3.0]), bins="tensorflow", max_bins=5)
        writer.add_image("image", torch.rand(3, 4, 5))
        writer.add_image("gray", torch.ones(4, 5, dtype=torch.uint8), dataformats="HW")
        writer.add_images("images", torch.rand(10, 1, 4, 5))
        writer.add_text("note", "# Ünïcode")
        writer.add_pr_curve("curve", torch.tensor([0, 1, 1, 0]), torch.tensor([0.1, 0.9, 0.4, 0.6]), 3, 3)
        assert writer.get_logdir() == str(tmp_path / "run")
    found = events(tmp_path / "run")
    assert [(step, value.simple_value) for step, value in found["loss"]] == [
        (0, 1.0), (1, 0.5), (2, pytest.approx(1 / 3))]
    assert list(found["exact"][0][1].tensor.double_val) == [0.1]
    histogram = found["weights"][0][1].histo
    assert histogram.num == 20 and sum(histogram.bucket) == 20 and len(histogram.bucket) == len(histogram.bucket_limit)
    assert sum(found["wide"][0][1].histo.bucket) == 3
    image, images = found["image"][0][1].image, found["images"][0][1].image
    assert (image.height, image.width) == (4, 5) and image.encoded_image_string.startswith(b"\x89PNG")
    assert (images.height, images.width) == (8, 40) and found["gray"][0][1].image.height == 4
    (step, curve), = found["curve"]                        # at the thresholds 0, 1/2 and 1
    assert step == 3 and curve.metadata.plugin_data.plugin_name == "pr_curves"
    assert list(curve.tensor.float_val) == pytest.approx([2, 1, 0, 2, 1, 0, 0, 1, 2, 0, 1, 2, 0.5, 0.5, 0, 1, 0.5, 0])
    text = found["note/text_summary"][0][1]
    assert text.tensor.string_val[0].decode() == "# Ünïcode" and text.metadata.plugin_data.plugin_name == "text"
    assert events(tmp_path / "run" / "both_test")["both"][0][1].simple_value == 2.0


def test_tensorboard_figure_and_errors(tmp_path, x):
    pytest.importorskip("tensorboard")
    from minitorch.utils.tensorboard import SummaryWriter
    with SummaryWriter(tmp_path, purge_step=3) as writer:
        with pytest.raises(ValueError, match="one number"):
            writer.add_scalar("a", x)
        with pytest.raises(ValueError, match="dataformats"):
            writer.add_image("a", x, dataformats="HW")
        with pytest.raises(ValueError, match="channels"):
            writer.add_image("a", torch.zeros(7, 3, 3))
        with pytest.raises(ValueError, match="no element"):
            writer.add_histogram("a", torch.tensor([]))
        with pytest.raises(ValueError, match="give it an input"):
            writer.add_graph(nn.Linear(1, 1))
        plt = pytest.importorskip("matplotlib.pyplot")
        figure, axes = plt.subplots(figsize=(2, 1), dpi=50)
        axes.plot(x[0, 0])
        writer.add_figure("figure", figure)
    image = events(tmp_path)["figure"][0][1].image
    assert (image.width, image.height) == (100, 50) and not plt.fignum_exists(figure.number)


def test_without_tensorboard():
    code = ("import sys; sys.modules['tensorboard'] = None\n"
            "from minitorch.utils.tensorboard import SummaryWriter\n"
            "try: SummaryWriter('x')\nexcept ModuleNotFoundError as error: print(error)")
    assert "pip install tensorboard" in _run(code)


def _run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_numpy_of_a_tensor_that_requires_grad():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        (x * 2).numpy()
    with torch.no_grad():
        assert np.asarray(x).tolist() == x.numpy().tolist() == [1.0, 1.0]
        assert np.shares_memory(x.numpy(), x.detach().numpy())
