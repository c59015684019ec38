"""Models of images and their ops: sizes and keys of torchvision's, ops against plain loops, gradients."""

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn, vision
from minitorch.vision import models, ops
from minitorch.vision.models import _api
from tests.helpers.pages import run_examples

TABLE = json.loads((_api.HERE / "weights.json").read_text(encoding="utf-8"))


# ---- models ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", models.list_models())
def test_numbers_of_parameters(name):
    """Every model has as many parameters as the published weights."""
    with torch.device("meta"):
        model = models.get_model(name)
    facts = TABLE[models.get_model_builder(name).weights]
    published = {member["num_params"] for member in facts.values() if member != facts["DEFAULT"]}
    assert sum(p.numel() for p in model.parameters()) in published       # some are for larger images too


SMALL = {
    "squeezenet1_1": 64, "mobilenet_v3_small": 32, "efficientnet_b0": 32, "resnet18": 32}


@pytest.mark.parametrize("name", SMALL)
def test_a_step_of_training(name):
    torch.manual_seed(0)
    model = models.get_model(name, num_classes=3)
    x = torch.randn(2, 3, SMALL[name], SMALL[name])
    before = model.eval()(x)
    assert before.shape == (2, 3) and torch.isfinite(before).all()
    again = models.get_model(name, num_classes=3)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.eval()(x), before)
    nn.functional.cross_entropy(model.train()(x), torch.tensor([0, 2])).backward()
    missing = [n for n, p in model.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
    assert not missing


def test_transformers_in_small():
    torch.manual_seed(0)
    vit = models.VisionTransformer(16, 8, 1, 2, 8, 16, num_classes=3, representation_size=5)
    swins = [models.SwinTransformer([2, 2], 8, [2, 1], [2, 4], [4, 4], num_classes=3, **options)
             for options in ({}, {"block": models.swin_transformer.SwinTransformerBlockV2,
                                  "downsample_layer": models.swin_transformer.PatchMergingV2})]
    for model, size in ((vit, 16), (swins[0], 18), (swins[1], 20)):
        out = model(torch.randn(2, 3, size, size))
        out.sum().backward()
        assert out.shape == (2, 3) and all(p.grad is not None for p in model.parameters())
    state = models.vision_transformer.interpolate_embeddings(32, 8, vit.state_dict(), "bilinear")
    models.VisionTransformer(32, 8, 1, 2, 8, 16, num_classes=3, representation_size=5).load_state_dict(state)
    with pytest.raises(AssertionError, match="Wrong image height"):
        vit(torch.randn(1, 3, 8, 16))


def test_windows_of_a_shifted_image_see_their_neighbours_only():
    """A shifted window that lies across the border mixes nothing of both sides: the gradient stays within it."""
    attention = models.swin_transformer.ShiftedWindowAttention(4, [4, 4], [2, 2], 2)
    x = torch.randn(1, 8, 8, 4, requires_grad=True)
    attention(x)[0, 0, 0].sum().backward()
    touched = (x.grad.abs().sum(-1)[0] > 1e-20).nonzero().tolist()
    assert touched == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_weights(tmp_path, monkeypatch):
    weights = models.ResNet18_Weights
    assert weights.DEFAULT is weights.IMAGENET1K_V1 and weights.verify("ResNet18_Weights.DEFAULT") is weights.DEFAULT
    assert models.get_weight("ResNet50_Weights.IMAGENET1K_V2") is models.get_model_weights("resnet50").DEFAULT
    assert weights.DEFAULT.meta["categories"][0] == "tench" and len(weights.DEFAULT.meta["categories"]) == 1000
    image = (torch.rand(3, 300, 400) * 255).to(torch.uint8)
    ready = weights.DEFAULT.transforms()(image)
    assert ready.shape == (3, 224, 224) and ready.dtype is torch.float32 and abs(float(ready.mean())) < 1
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    model = models.squeezenet1_1()
    facts = TABLE["SqueezeNet1_1_Weights"]["IMAGENET1K_V1"]
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save(model.state_dict(), folder / facts["url"].rpartition("/")[2])
    loaded = models.squeezenet1_1(weights="DEFAULT")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), loaded.parameters()))
    with pytest.warns(UserWarning, match="weights="):
        models.squeezenet1_1(pretrained=True)
    for call, error, text in (
            (lambda: models.squeezenet1_1(weights="BEST"), ValueError, "not a member"),
            (lambda: models.squeezenet1_1(weights=3), TypeError, "expected SqueezeNet1_1_Weights"),
            (lambda: models.squeezenet1_1(weights="DEFAULT", num_classes=3), ValueError, "1000"),
            (lambda: models.get_model("resnet19"), ValueError, "Unknown model"),
            (lambda: models.get_weight("X.Y"), ValueError, "Unknown weights"),
            (lambda: models.SqueezeNet("2"), ValueError, "version"),
            (lambda: vision.detection, AttributeError, "no attribute")):
        with pytest.raises(error, match=text):
            call()
    assert models.list_models(models.vgg, include="*16*", exclude=["*_bn"]) == ["vgg16"]
    assert len(models.list_models()) == 54


# ---- boxes -------------------------------------------------------------------------------------------------
def random_boxes(rng, n, size=20.0):
    corners = rng.random((n, 2)) * size
    return np.concatenate([corners, corners + rng.random((n, 2)) * size / 2 + 0.1], 1).astype(np.float32)


def iou_of(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(w, 0) * max(h, 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_boxes_against_loops(seed):
    rng = np.random.default_rng(seed)
    a, b = random_boxes(rng, 6), random_boxes(rng, 4)
    found = ops.box_iou(torch.tensor(a), torch.tensor(b)).numpy()
    want = np.array([[iou_of(x, y) for y in b] for x in a])
    assert np.allclose(found, want, atol=1e-5)
    scores, threshold = rng.random(6).astype(np.float32), float(rng.random())
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if all(iou_of(a[i], a[j]) <= threshold for j in kept):
            kept.append(int(i))
    assert ops.nms(torch.tensor(a), torch.tensor(scores), threshold).tolist() == kept
    classes = rng.integers(0, 2, 6)
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if all(iou_of(a[i], a[j]) <= threshold or classes[i] != classes[j] for j in kept):
            kept.append(int(i))
    assert ops.batched_nms(torch.tensor(a), torch.tensor(scores), torch.tensor(classes), threshold).tolist() == kept
    for form in ("xywh", "cxcywh"):
        there = ops.box_convert(torch.tensor(a), "xyxy", form)
        assert np.allclose(ops.box_convert(there, form, "xyxy").numpy(), a, atol=1e-4)


def test_other_overlaps_and_losses():
    a = torch.tensor([[0.0, 0, 2, 2], [0, 0, 4, 2]])
    b = torch.tensor([[1.0, 1, 3, 3], [6, 0, 8, 4]])
    assert torch.allclose(ops.generalized_box_iou(a, b)[0, 0], torch.tensor(1 / 7 - 2 / 9))
    assert torch.allclose(ops.distance_box_iou(a, b)[0, 0], torch.tensor(1 / 7 - 2 / 18))
    assert torch.allclose(ops.complete_box_iou(a, b)[0, 0], torch.tensor(1 / 7 - 2 / 18))
    v = 4 / math.pi**2 * (math.atan(2) - math.atan(0.5)) ** 2
    assert torch.allclose(ops.complete_box_iou(a, b)[1, 1], ops.distance_box_iou(a, b)[1, 1] - v * v / (1 + v))
    for loss, overlap in ((ops.generalized_box_iou_loss, ops.generalized_box_iou),
                          (ops.distance_box_iou_loss, ops.distance_box_iou),
                          (ops.complete_box_iou_loss, ops.complete_box_iou)):
        x = a.double().requires_grad_()
        assert torch.allclose(loss(x, b.double()), 1 - overlap(x, b.double()).diagonal(), atol=1e-6)
        assert torch.autograd.gradcheck(lambda y, loss=loss: loss(y[:1], b[:1].double(), "sum"), x)
    logits, targets = torch.tensor([0.5, -2.0]), torch.tensor([1.0, 0.0])
    p = logits.sigmoid()
    want = torch.stack([-0.25 * (1 - p[0]) ** 2 * p[0].log(), -0.75 * p[1] ** 2 * (1 - p[1]).log()])
    assert torch.allclose(ops.sigmoid_focal_loss(logits, targets), want)
    assert ops.sigmoid_focal_loss(logits, targets, reduction="mean").isclose(want.mean())
    assert ops.clip_boxes_to_image(b, (2, 2)).tolist() == [[1, 1, 2, 2], [2, 0, 2, 2]]
    assert ops.remove_small_boxes(a, 3).tolist() == [] and ops.remove_small_boxes(a, 2).tolist() == [0, 1]
    mask = torch.zeros(1, 5, 6)
    mask[0, 1:3, 2:5] = 1
    assert ops.masks_to_boxes(mask).tolist() == [[2, 1, 4, 2]]
    assert ops.nms(torch.empty(0, 4), torch.empty(0), 0.5).shape == (0,)
    assert ops.batched_nms(torch.empty(0, 4), torch.empty(0), torch.empty(0).long(), 0.5).shape == (0,)
    for call in (lambda: ops.nms(torch.zeros(2, 3), torch.zeros(2), 0.5),
                 lambda: ops.nms(torch.zeros(2, 4), torch.zeros(3), 0.5)):
        with pytest.raises(RuntimeError, match="boxes"):
            call()
    with pytest.raises(ValueError, match="Unsupported Bounding Box"):
        ops.box_convert(a, "xyxy", "other")
    with pytest.raises(ValueError, match="Invalid Value"):
        ops.sigmoid_focal_loss(logits, targets, reduction="other")


# ---- regions of interest -----------------------------------------------------------------------------------
def interpolated(image, y, x):
    """The value of an image (H, W) between pixels, as detectors read it."""
    h, w = image.shape
    if y < -1 or y > h or x < -1 or x > w:
        return 0.0
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    top, left = min(int(y), h - 1), min(int(x), w - 1)
    bottom, right = min(top + 1, h - 1), min(left + 1, w - 1)
    v, u = y - top, x - left
    return ((image[top, left] * (1 - u) + image[top, right] * u) * (1 - v)
            + (image[bottom, left] * (1 - u) + image[bottom, right] * u) * v)


def aligned_by_loops(maps, rois, size, scale, ratio, aligned):
    out = np.zeros((len(rois), maps.shape[1], *size))
    for k, (number, *box) in enumerate(rois):
        x1, y1, x2, y2 = [v * scale - (0.5 if aligned else 0) for v in box]
        w, h = x2 - x1, y2 - y1
        if not aligned:
            w, h = max(w, 1), max(h, 1)
        steps = h / size[0], w / size[1]
        counts = [ratio if ratio > 0 else max(math.ceil(s), 1) for s in steps]
        for c in range(maps.shape[1]):
            for i in range(size[0]):
                for j in range(size[1]):
                    out[k, c, i, j] = np.mean([
                        interpolated(maps[int(number), c], y1 + (i + (a + 0.5) / counts[0]) * steps[0],
                                     x1 + (j + (b + 0.5) / counts[1]) * steps[1])
                        for a in range(counts[0]) for b in range(counts[1])])
    return out


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([-1, 1, 2]), st.sampled_from([1.0, 0.5]))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_regions_against_loops(seed, aligned, ratio, scale):
    rng = np.random.default_rng(seed)
    maps = rng.standard_normal((2, 6, 7, 9))
    rois = np.concatenate([rng.integers(0, 2, (3, 1)), random_boxes(rng, 3, 12) - 2], 1)
    found = ops.roi_align(torch.tensor(maps), torch.tensor(rois), (2, 3), scale, ratio, aligned)
    assert np.allclose(found.numpy(), aligned_by_loops(maps, rois, (2, 3), scale, ratio, aligned), atol=1e-5)
    listed = [torch.tensor(rois[rois[:, 0] == i, 1:]) for i in (0, 1)]
    order = np.argsort(rois[:, 0], kind="stable")
    assert np.allclose(ops.roi_align(torch.tensor(maps), listed, (2, 3), scale, ratio, aligned).numpy(),
                       found.numpy()[order])
    sensitive = ops.ps_roi_align(torch.tensor(maps), torch.tensor(rois), (2, 3), scale, ratio)
    plain = np.zeros((3, 6, 2, 3))
    for k, (number, *box) in enumerate(rois):
        x1, y1, x2, y2 = [v * scale - 0.5 for v in box]
        steps = (y2 - y1) / 2, (x2 - x1) / 3
        counts = [ratio if ratio > 0 else max(math.ceil(s), 1) for s in steps]
        for c in range(6):
            i, j = c // 3 % 2, c % 3
            plain[k, c, i, j] = np.mean([interpolated(maps[int(number), c], y1 + (i + (a + 0.5) / counts[0]) * steps[0],
                                                      x1 + (j + (b + 0.5) / counts[1]) * steps[1])
                                         for a in range(counts[0]) for b in range(counts[1])])
    assert sensitive.shape == (3, 1, 2, 3) and np.allclose(sensitive.numpy()[:, 0], plain.sum(1), atol=1e-5)


def pooled_by_loops(maps, rois, size, scale, mean):
    out = np.zeros((len(rois), maps.shape[1] // (size[0] * size[1] if mean else 1), *size))
    h, w = maps.shape[2:]
    for k, (number, *box) in enumerate(rois):
        x1, y1, x2, y2 = [math.floor(abs(v * scale) + 0.5) * (1 if v >= 0 else -1) for v in box]
        height, width = max(y2 - y1 + (not mean), 1), max(x2 - x1 + (not mean), 1)
        for i in range(size[0]):
            for j in range(size[1]):
                top, bottom = [min(max(v + y1, 0), h - mean) for v in (math.floor(i * height / size[0]),
                                                                        math.ceil((i + 1) * height / size[0]))]
                left, right = [min(max(v + x1, 0), w - mean) for v in (math.floor(j * width / size[1]),
                                                                        math.ceil((j + 1) * width / size[1]))]
                for c in range(out.shape[1]):
                    channel = (c * size[0] + i) * size[1] + j if mean else c
                    piece = maps[int(number), channel, top:bottom, left:right]
                    out[k, c, i, j] = 0 if not piece.size else piece.mean() if mean else piece.max()
    return out


@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.5]))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_pooled_regions_against_loops(seed, scale):
    rng = np.random.default_rng(seed)
    maps = rng.standard_normal((2, 12, 7, 9))
    rois = np.concatenate([rng.integers(0, 2, (3, 1)), random_boxes(rng, 3, 12) - 2], 1)
    for function, mean in ((ops.roi_pool, False), (ops.ps_roi_pool, True)):
        found = function(torch.tensor(maps), torch.tensor(rois), (2, 3), scale)
        assert np.allclose(found.numpy(), pooled_by_loops(maps, rois, (2, 3), scale, mean), atol=1e-6)


def test_gradients_of_regions():
    rng = np.random.default_rng(0)
    rois = torch.tensor(np.concatenate([rng.integers(0, 2, (2, 1)), random_boxes(rng, 2, 6)], 1))
    x = torch.tensor(rng.standard_normal((2, 4, 5, 6)), requires_grad=True)
    for layer in (ops.RoIAlign((2, 2), 1.0, 2, True), ops.RoIPool((2, 2), 1.0), ops.PSRoIAlign((2, 2), 1.0, 2),
                  ops.PSRoIPool((2, 2), 1.0)):
        assert torch.autograd.gradcheck(lambda y, layer=layer: layer(y, rois), x), layer
    for wrong in (torch.zeros(2, 4), [torch.zeros(2, 5)]):
        with pytest.raises(AssertionError, match="boxes"):
            ops.roi_align(x, wrong, 2)
    with pytest.raises(RuntimeError, match="multiple"):
        ops.ps_roi_align(x, rois, 3)
    assert ops.roi_pool(x, torch.zeros(0, 5), 2).shape == (0, 4, 2, 2)
    assert ops.roi_align(x.bfloat16(), rois.float(), 2).dtype is torch.bfloat16


def test_pyramids():
    torch.manual_seed(0)
    maps = {"a": torch.randn(1, 4, 8, 8), "b": torch.randn(1, 6, 4, 4)}
    pyramid = ops.FeaturePyramidNetwork([4, 6], 3, ops.feature_pyramid_network.LastLevelP6P7(6, 3))
    found = pyramid(maps)
    assert {k: tuple(v.shape[1:]) for k, v in found.items()} == {"a": (3, 8, 8), "b": (3, 4, 4), "p6": (3, 2, 2),
                                                                 "p7": (3, 1, 1)}
    pooler = ops.MultiScaleRoIAlign(["a", "b"], 2, 2, canonical_scale=32, canonical_level=3)
    boxes = torch.tensor([[0.0, 0, 8, 8], [0, 0, 30, 30]])
    out = pooler(found, [boxes], [(64, 64)])
    assert pooler.scales == [1 / 8, 1 / 16]
    want = [ops.roi_align(found[name], [boxes[i:i + 1]], 2, scale, 2)[0] for i, (name, scale)
            in enumerate((("a", 1 / 8), ("a", 1 / 8)))]
    assert torch.allclose(out, torch.stack(want), atol=1e-6)
    large = pooler(found, [torch.tensor([[0.0, 0, 64, 64]])], [(64, 64)])
    assert torch.allclose(large[0], ops.roi_align(found["b"], [torch.tensor([[0.0, 0, 64, 64]])], 2, 1 / 16, 2)[0])


# ---- layers ------------------------------------------------------------------------------------------------
def test_deformable_convolution():
    rng = np.random.default_rng(0)
    x, w = torch.tensor(rng.standard_normal((2, 4, 5, 6))), torch.tensor(rng.standard_normal((6, 2, 3, 2)))
    options = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}
    want = nn.functional.conv2d(x, w, groups=2, **options)
    offset = torch.zeros(2, 2 * 2 * 6, *want.shape[2:], dtype=torch.float64)
    assert torch.allclose(ops.deform_conv2d(x, offset, w, **options), want)
    shifted = offset.clone()
    shifted[:, 1::2] = 1                                   # a column to the right
    assert torch.allclose(ops.deform_conv2d(x, shifted, w, padding=(1, 0), stride=(2, 1), dilation=(1, 2))[..., :-1],
                          want[..., 1:])
    mask = torch.full((2, 2 * 6, *want.shape[2:]), 0.5, dtype=torch.float64)
    bias = torch.arange(6.0).double()
    assert torch.allclose(ops.deform_conv2d(x, offset, w, bias, mask=mask, **options), want / 2 + bias[:, None, None])
    moved = torch.tensor(rng.uniform(0.1, 0.4, offset.shape), requires_grad=True)
    assert torch.autograd.gradcheck(lambda m: ops.deform_conv2d(x, m, w, mask=mask, **options).sum((1, 2, 3)), moved)
    layer = ops.DeformConv2d(4, 6, 3, padding=1)
    assert layer(x.float(), torch.zeros(2, 18, 5, 6)).shape == (2, 6, 5, 6)
    with pytest.raises(RuntimeError, match="offset"):
        layer(x.float(), torch.zeros(2, 17, 5, 6))


def test_dropped_blocks_and_layers():
    torch.manual_seed(0)
    x = torch.ones(4, 8, 12, 12)
    for mode in ("row", "batch"):
        out = ops.stochastic_depth(x, 0.5, mode)
        assert set(out.flatten().tolist()) <= {0.0, 2.0}
        assert (out.flatten(1).std(1) == 0).all()
    assert ops.StochasticDepth(0.5, "row").eval()(x) is x and ops.stochastic_depth(x, 0.0, "row") is x
    out = ops.drop_block2d(x, 0.2, 3)
    zeros = float((out == 0).float().mean())
    assert 0.1 < zeros < 0.3 and abs(float(out.mean()) - 1) < 1e-4
    rows = out[0, 0] == 0
    assert all(bool(rows[max(i - 2, 0):i + 3, max(j - 2, 0):j + 3].sum() >= 9) for i, j in rows.nonzero().tolist())
    assert ops.drop_block3d(x[:, :, None], 0.2, 1).shape == (4, 8, 1, 12, 12)
    assert ops.DropBlock2d(0.2, 3).eval()(x) is x
    for call in (lambda: ops.drop_block2d(x, 0.2, 4), lambda: ops.drop_block2d(x, 2, 3), lambda: ops.drop_block2d(
            x[0], 0.2, 3), lambda: ops.stochastic_depth(x, 2, "row"), lambda: ops.stochastic_depth(x, 0.5, "column")):
        with pytest.raises(ValueError):
            call()


def test_other_layers():
    torch.manual_seed(random.Random(0).randrange(100))
    norm = nn.BatchNorm2d(3)
    norm.running_mean.uniform_()
    norm.running_var.uniform_(0.5, 2)
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(norm.state_dict())
    x = torch.randn(2, 3, 4, 4)
    assert torch.allclose(frozen(x), norm.eval()(x), atol=1e-6) and not list(frozen.parameters())
    layer = ops.Conv2dNormActivation(3, 4, (3, 5), dilation=(2, 1))
    assert layer(x).shape == (2, 4, 4, 4) and layer[0].bias is None and layer.out_channels == 4
    assert ops.Conv3dNormActivation(3, 4, norm_layer=None)(x[:, :, None]).shape == (2, 4, 1, 4, 4)
    assert ops.MLP(4, [5, 6], nn.LayerNorm, dropout=0.1)(x).shape == (2, 3, 4, 6)
    assert ops.Permute([0, 2, 3, 1])(x).shape == (2, 4, 4, 3)
    squeeze = ops.SqueezeExcitation(3, 2)
    assert torch.allclose(squeeze(x) / x, squeeze.fc2(squeeze.fc1(x.mean((2, 3), keepdim=True)).relu()).sigmoid(),
                          atol=1e-5)


def test_the_page_about_them():
    assert run_examples("vision.md") == 6
