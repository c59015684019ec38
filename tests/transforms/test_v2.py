"""Transforms of samples: masks, boxes and points go where the pixels go."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import transforms as T
from minitorch.transforms import tv_tensors as tv
from minitorch.transforms import v2

FORMATS = [member.name for member in tv.BoundingBoxFormat]
BOX = (8, 10, 20, 18)                                      # x0, y0, x1, y1


def sample(format="XYXY", size=(30, 34)):
    """An image with a bright rectangle, its mask, its box, and the middle of it as a point."""
    image = torch.zeros(3, *size)
    x0, y0, x1, y1 = BOX
    image[:, y0:y1, x0:x1] = 1.0
    box = tv.BoundingBoxes([BOX], format="XYXY", canvas_size=size, dtype=torch.float32)
    return {"image": tv.Image(image), "mask": tv.Mask(image[0].long()), "label": 3, "name": "one",
            "boxes": v2.ConvertBoundingBoxFormat(format)(box),
            "points": tv.KeyPoints([[(x0 + x1) / 2, (y0 + y1) / 2]], canvas_size=size)}


def rectangle(plane):
    """The box around the bright pixels of (H, W)."""
    rows, columns = (np.flatnonzero(np.asarray(plane.tolist()).any(axis)) for axis in (1, 0))
    return [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]


GEOMETRY = {
    "flip": v2.RandomHorizontalFlip(1.0), "upside down": v2.RandomVerticalFlip(1.0), "larger": v2.Resize((60, 51)),
    "smaller": v2.Resize(20), "padded": v2.Pad((1, 2, 3, 4)), "middle": v2.CenterCrop((24, 40)),
    "crop": v2.RandomCrop(26, padding=3), "resized crop": v2.RandomResizedCrop(28, scale=(0.7, 1.0)),
    "rotation": v2.RandomRotation(20, expand=True), "quarter": v2.RandomRotation((90, 90)),
    "affine": v2.RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5), "perspective": v2.RandomPerspective(0.3, 1.0),
    "zoomed out": v2.RandomZoomOut(p=1.0), "random size": v2.RandomResize(20, 40), "jitter": v2.ScaleJitter((40, 40)),
    "shortest": v2.RandomShortestSize([20, 30], 50),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", GEOMETRY)
def test_places_go_where_the_pixels_go(name, format):
    for seed in range(5):
        torch.manual_seed(seed)
        found = GEOMETRY[name](sample(format))
        image, mask, boxes = found["image"], found["mask"], found["boxes"]
        assert type(image) is tv.Image and type(mask) is tv.Mask and type(boxes) is tv.BoundingBoxes
        assert tuple(boxes.canvas_size) == tuple(mask.shape) == tuple(image.shape[-2:]) == found["points"].canvas_size
        assert (found["label"], found["name"], boxes.format.name) == (3, "one", format)
        if not mask.any():
            continue
        box = v2.ConvertBoundingBoxFormat("XYXY")(boxes)[0].tolist()
        assert np.allclose(box, rectangle(mask), atol=1.6), (name, seed)
        if "rotation" not in name and name not in ("affine", "perspective"):       # the corners of the image are dark
            assert np.allclose(box, rectangle(image[0] > 0.5), atol=1.6)
        assert mask.unique().tolist() in ([0, 1], [1]) and mask.dtype is torch.int64
        x, y = found["points"][0].tolist()
        assert box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.floats(-20, 60)] * 2, *[st.floats(0.5, 30)] * 2), min_size=1, max_size=5),
       st.sampled_from(FORMATS), st.sampled_from(FORMATS))
def test_formats(boxes, old, new):
    found = tv.BoundingBoxes(torch.tensor(boxes, dtype=torch.float64), format=old, canvas_size=(40, 40))
    there = v2.ConvertBoundingBoxFormat(new)(found)
    assert there.format.name == new
    assert torch.allclose(v2.ConvertBoundingBoxFormat(old)(there).as_subclass(torch.Tensor),
                          found.as_subclass(torch.Tensor))
    inside = v2.ConvertBoundingBoxFormat("XYXY")(v2.ClampBoundingBoxes()(there))
    assert (inside >= -1e-9).all() and (inside <= 40 + 1e-9).all()


COLORS = [v2.ColorJitter(0.4, 0.4, 0.4, 0.1), v2.GaussianBlur(3), v2.RandomInvert(1.0), v2.RandomErasing(1.0),
          v2.RandomPhotometricDistort(p=1.0), v2.RandomChannelPermutation(), v2.Normalize([0.5] * 3, [0.5] * 3),
          v2.GaussianNoise(), v2.RandomAutocontrast(1.0), v2.RandomGrayscale(1.0),
          v2.ToDtype(torch.float64, scale=True)]


@pytest.mark.parametrize("transform", COLORS, ids=lambda t: type(t).__name__)
def test_colors_leave_masks_and_places_alone(transform):
    before = sample()
    before["image"] = tv.wrap(torch.rand(3, 30, 34), like=before["image"])
    after = transform(copy.deepcopy(before))
    assert type(after["image"]) is tv.Image
    assert all(torch.equal(after[name], before[name]) for name in ("mask", "boxes", "points"))


@pytest.mark.parametrize("name", ["ColorJitter", "RandomAffine", "RandomPerspective", "RandomCrop", "RandomErasing",
                                  "RandomResizedCrop", "GaussianBlur", "RandomRotation"])
def test_plain_tensors_get_what_the_first_version_gives(name):
    given = {"ColorJitter": (0.3, 0.3), "RandomAffine": (20,), "RandomPerspective": (), "RandomCrop": (8,),
             "RandomErasing": (), "RandomResizedCrop": (8,), "GaussianBlur": (3,), "RandomRotation": (30,)}[name]
    x = torch.rand(3, 12, 13)
    for seed in range(4):
        torch.manual_seed(seed)
        first = getattr(T, name)(*given)(x)
        torch.manual_seed(seed)
        second = getattr(v2, name)(*given)(x)
        assert torch.equal(first, second) and type(second) is torch.Tensor


def test_which_tensors_are_images():
    flip = v2.RandomHorizontalFlip(1.0)
    a, b = torch.arange(4.0).reshape(1, 2, 2), torch.arange(4.0).reshape(1, 2, 2) + 4
    first, second, *rest = flip(a, b, {"x": [b, "text"], "y": None})
    assert first.tolist() == [[[1, 0], [3, 2]]] and second is b and rest == [{"x": [b, "text"], "y": None}]
    image, plain = flip(tv.Image(a), b)
    assert image.tolist() == [[[1, 0], [3, 2]]] and plain is b


def test_kinds():
    image = tv.Image(torch.rand(2, 3))
    assert image.shape == (1, 2, 3) and str(image).startswith("Image([[[")
    assert type(image + 1) is torch.Tensor and {type(image.clone()), type(image.to(torch.float64))} == {tv.Image}
    assert type(image.add_(1)) is tv.Image and type(image[0]) is torch.Tensor
    boxes = tv.BoundingBoxes([1, 2, 3, 4], format="xywh", canvas_size=(9, 9))
    copied = copy.deepcopy(boxes)
    assert boxes.shape == (1, 4) and copied.canvas_size == (9, 9) and copied.format is tv.BoundingBoxFormat.XYWH
    assert tv.wrap(boxes * 2, like=boxes, canvas_size=(18, 18)).canvas_size == (18, 18)
    assert type(v2.ToPureTensor()(image)) is torch.Tensor
    image = v2.ToImage()(np.zeros((4, 5, 3), np.uint8))
    assert type(image) is tv.Image and image.shape == (3, 4, 5) and v2.functional.get_size(image) == [4, 5]
    for make, words in [(lambda: tv.BoundingBoxes([1, 2, 3], format="XYXY", canvas_size=(9, 9)), r"\(N, 4\)"),
                        (lambda: tv.BoundingBoxes([1, 2, 3, 4], format="XYWHR", canvas_size=(9, 9)), "one of"),
                        (lambda: tv.KeyPoints([1.0], canvas_size=(9, 9)), r"\(..., 2\)"),
                        (lambda: tv.Video(torch.rand(3, 4, 5)), "T, C, H, W")]:
        with pytest.raises(ValueError, match=words):
            make()


def test_dtypes_of_kinds():
    given = sample()
    found = v2.ToDtype({tv.Image: torch.float64, tv.Mask: torch.uint8, "others": None})(given)
    assert [found[name].dtype for name in ("image", "mask", "boxes")] == [torch.float64, torch.uint8, torch.float32]
    with pytest.raises(ValueError, match="No dtype was specified"):
        v2.ToDtype({tv.Image: torch.float64})(given)
    assert v2.ToDtype(torch.float32, scale=True)(torch.full((1, 1, 1), 255, dtype=torch.uint8)).item() == 1.0


def test_small_boxes_are_removed():
    boxes = tv.BoundingBoxes([[0, 0, 5, 5], [3, 3, 3.5, 9], [0, 0, 20, 5], [2, 2, 6, 6]], format="XYXY",
                             canvas_size=(10, 10))
    target = {"boxes": boxes, "labels": torch.arange(4), "mask": tv.Mask(torch.arange(4).reshape(4, 1, 1)), "other": 1}
    _, found = v2.SanitizeBoundingBoxes()(tv.Image(torch.rand(3, 10, 10)), target)
    assert found["labels"].tolist() == found["mask"].flatten().tolist() == [0, 3] and found["boxes"].shape == (2, 4)
    with pytest.raises(ValueError, match="Could not infer where the labels are"):
        v2.SanitizeBoundingBoxes()({"boxes": boxes})
    assert len(v2.SanitizeBoundingBoxes(labels_getter=None)({"boxes": boxes})["boxes"]) == 2


@pytest.mark.parametrize("mixing", [v2.CutMix, v2.MixUp])
def test_batches(mixing):
    """Labels are mixed as the pixels are."""
    images = torch.arange(5.0).reshape(5, 1, 1, 1).expand(5, 3, 12, 10).contiguous()
    for seed in range(6):
        torch.manual_seed(seed)
        mixed, labels = mixing(num_classes=5)(images, torch.arange(5))
        assert torch.allclose(labels.sum(1), torch.ones(5))
        assert torch.allclose(mixed.mean((1, 2, 3)), labels @ torch.arange(5.0), atol=1e-5)
    with pytest.raises(ValueError, match="num_classes must be passed"):
        mixing()(images, torch.arange(5))
    with pytest.raises(ValueError, match="Expected a batched input with 4 dims"):
        mixing(num_classes=5)(images[0], torch.arange(3))


def test_containers_and_own_transforms():
    class Brighter(v2.Transform):
        def make_params(self, flat_inputs):
            return {"by": torch.rand(1).item()}

        def transform(self, inpt, params):
            return inpt + params["by"] if isinstance(inpt, tv.Image) else inpt

    given = sample()
    whole = v2.Compose([Brighter(), v2.RandomApply([v2.Identity()], 1.0), v2.RandomOrder([v2.Identity()] * 2),
                        v2.RandomChoice([v2.Resize(9), v2.Resize(8)], p=[0, 1]), v2.Lambda(lambda x: x + 1, int)])
    found = whole(given)
    assert found["image"].shape == (3, 8, 9) and found["label"] == 4 and "Resize(size=9" in repr(whole)
    with pytest.raises(ValueError, match="at least one transform"):
        v2.Compose([])
    with pytest.raises(NotImplementedError, match="derive from Transform"):
        v2.Transform()(given)
    for policy in (v2.AutoAugment(), v2.RandAugment(), v2.TrivialAugmentWide(), v2.AugMix()):
        assert policy(torch.randint(0, 256, (3, 9, 9), dtype=torch.uint8)).shape == (3, 9, 9)
        with pytest.raises(TypeError, match="are not supported by"):
            policy(given)


def test_functions_take_kinds():
    given = sample()
    assert type(v2.functional.resize(given["image"], [8, 8])) is tv.Image
    mask = v2.functional.rotate(given["mask"], 30.0, interpolation=T.InterpolationMode.BILINEAR)
    assert type(mask) is tv.Mask and mask.unique().tolist() == [0, 1] and mask.shape == (30, 34)
    with pytest.raises(TypeError, match="takes images and masks"):
        v2.functional.resize(given["boxes"], [8, 8])
    box = v2.functional.convert_bounding_box_format(torch.tensor([[1.0, 2, 3, 4]]), "XYWH", "XYXY")
    assert box.tolist() == [[1, 2, 4, 6]]


def boxes_and_points(size=(40, 50)):
    return (tv.BoundingBoxes([[3, 4, 23, 34], [10, 5, 18, 14], [30, 25, 45, 37]], format="XYXY", canvas_size=size),
            tv.KeyPoints([[3, 4], [60, 2], [49, 39]], canvas_size=size))


def test_a_crop_by_overlap_keeps_boxes_whose_middle_is_in_the_window():
    boxes, _ = boxes_and_points()
    image = torch.arange(2000).view(1, 40, 50)
    changed = 0
    for seed in range(12):
        torch.manual_seed(seed)
        cut, found = v2.RandomIoUCrop(min_scale=0.4, sampler_options=[0.3, 1.0])(tv.Image(image), boxes)
        top, left = divmod(int(cut[0, 0, 0]), 50)
        height, width = cut.shape[-2:]
        middles = (boxes[:, :2] + boxes[:, 2:]) / 2 - torch.tensor([left, top])
        within = ((middles > 0) & (middles < torch.tensor([width, height]))).all(-1)
        assert found.canvas_size == (height, width) and 0.5 <= width / height <= 2
        assert (found != 0).any(-1).tolist() == within.tolist() and within.any()
        _, kept = v2.SanitizeBoundingBoxes(labels_getter=None)(cut, found)
        assert len(kept) == int(within.sum())
        changed += cut.shape != image.shape
    assert changed > 3
    with pytest.raises(TypeError, match="requires input sample to contain"):
        v2.RandomIoUCrop()(tv.Image(image))


def test_points_beyond_the_image_are_removed_with_their_labels():
    _, points = boxes_and_points()
    found, labels = v2.SanitizeKeyPoints(labels_getter=lambda sample: sample[1])(points, torch.tensor([5, 6, 7]))
    assert type(found) is tv.KeyPoints and found.tolist() == [[3, 4], [49, 39]] and labels.tolist() == [5, 7]
    groups = tv.KeyPoints([[[1, 1], [2, 2]], [[1, 1], [-1, 2]]], canvas_size=(9, 9))
    assert v2.SanitizeKeyPoints()({"points": groups})["points"].tolist() == [[[1, 1], [2, 2]]]
    kept, which = v2.functional.sanitize_keypoints(points.as_subclass(torch.Tensor), canvas_size=(40, 50))
    assert kept.tolist() == [[3, 4], [49, 39]] and which.tolist() == [True, False, True]


def test_modes_of_clamping():
    boxes = tv.BoundingBoxes([[-3, 4, 60, 34]], format="XYXY", canvas_size=(40, 50))
    assert v2.ClampBoundingBoxes()(boxes).tolist() == [[0, 4, 50, 34]]
    free = v2.SetClampingMode(None)(boxes)
    assert free.clamping_mode is None and boxes.clamping_mode == "soft"
    assert v2.ClampBoundingBoxes()(free).tolist() == boxes.tolist()
    assert v2.ClampBoundingBoxes("hard")(free).tolist() == [[0, 4, 50, 34]]
    with pytest.raises(ValueError, match="clamping_mode must be"):
        v2.SetClampingMode("half")


def test_losses_of_jpeg():
    pytest.importorskip("PIL")
    torch.manual_seed(0)
    smooth = torch.linspace(0, 255, 32).expand(2, 3, 32, 32).to(torch.uint8)
    found = v2.JPEG(95)(tv.Image(smooth))
    assert type(found) is tv.Image and found.dtype == torch.uint8 and found.shape == smooth.shape
    assert (found.int() - smooth.int()).abs().max() < 8
    noise = torch.randint(256, (3, 32, 32), dtype=torch.uint8)
    lost = [(v2.JPEG(quality)(noise).float() - noise).abs().mean().item() for quality in (95, 50, 5)]
    assert 0 < lost[0] < lost[1] < lost[2]
    for wrong, error in ((0, ValueError), ((50, 20), ValueError), (True, TypeError)):
        with pytest.raises(error):
            v2.JPEG(wrong)
    with pytest.raises(TypeError, match="uint8"):
        v2.JPEG(50)(torch.rand(3, 8, 8))


# ---- what every function, and every list of transforms, shares ----------------------------------
PLANES = {"affine": (20.0, [1, 2], 1.2, [5.0, 0.0]), "center_crop": ([5, 6],), "crop": (1, 2, 5, 4), "hflip": (),
          "vflip": (), "pad": ([1, 2, 3, 0],), "resize": ([5, 11],), "resized_crop": (1, 1, 5, 6, [4, 9]),
          "rotate": (30.0,), "perspective": ([[0, 0], [8, 0], [8, 7], [0, 7]], [[1, 0], [7, 1], [8, 6], [0, 7]])}


@pytest.mark.parametrize("name", PLANES)
@given(values=st.lists(st.integers(0, 4), min_size=72, max_size=72))
@settings(max_examples=5, deadline=None, database=None, derandomize=True)
def test_a_mask_with_and_without_a_channel_is_the_same_mask(name, values):
    plane = torch.tensor(values, dtype=torch.uint8).reshape(8, 9)
    flat, deep = (getattr(v2.functional, name)(tv.Mask(x), *PLANES[name]) for x in (plane, plane[None]))
    assert type(flat) is type(deep) is tv.Mask and flat.ndim == 2
    assert flat.tolist() == deep[0].tolist() and set(flat.unique().tolist()) <= {0, *values}


@pytest.mark.parametrize("cls", [v2.Compose, v2.RandomApply, v2.RandomChoice, v2.RandomOrder])
@pytest.mark.parametrize("given", [3, None, 0.5, v2.Identity()])
def test_a_list_of_transforms_is_a_list(cls, given):
    with pytest.raises(TypeError, match="should be a sequence of callables"):
        cls(given)
    with pytest.raises(ValueError, match="at least one"):
        cls([])
    assert cls([v2.Identity()] * 2)(3) == cls((v2.Identity(), v2.Identity()))(3) == 3
