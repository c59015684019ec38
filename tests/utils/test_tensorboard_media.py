"""Sounds, videos, meshes, boxes and layouts in TensorBoard's files, read back by TensorBoard."""

import io
import wave

import numpy as np
import pytest

import minitorch as torch

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.util.tensor_util import make_ndarray  # noqa: E402

from minitorch.utils.tensorboard import SummaryWriter  # noqa: E402


@pytest.fixture
def written(tmp_path):
    """Write by a function of a writer; what TensorBoard reads."""
    def write(deed):
        with SummaryWriter(tmp_path) as writer:
            deed(writer)
        return EventAccumulator(str(tmp_path)).Reload()
    return write


def test_a_sound_is_a_wave_file(written):
    sound = torch.linspace(-2, 2, 400)
    found = written(lambda w: w.add_audio("beep", sound[None], 3, sample_rate=8000)).Audio("beep")[0]
    with wave.open(io.BytesIO(found.encoded_audio_string)) as opened:
        assert (opened.getframerate(), opened.getnframes(), opened.getsampwidth()) == (8000, 400, 2)
        samples = np.frombuffer(opened.readframes(400), "<i2")
    assert found.step == 3 and samples.min() == -32767 and samples.max() == 32767
    assert np.abs(samples / 32767 - np.clip(sound.numpy(), -1, 1)).max() < 1e-4
    with pytest.raises(AssertionError, match="one dimension"):
        written(lambda w: w.add_audio("noise", torch.zeros(2, 5)))


def test_videos_lie_side_by_side_in_an_animation(written):
    Image = pytest.importorskip("PIL.Image")
    videos = torch.zeros(2, 3, 3, 8, 6)
    videos[1, 2, 0] = 1.0                                  # the second video's last frame is red
    found = written(lambda w: w.add_video("film", videos, fps=10)).Images("film")[0]
    animation = Image.open(io.BytesIO(found.encoded_image_string))
    assert (found.height, found.width, animation.size) == (8, 12, (12, 8))
    animation.seek(1)                                      # equal frames are one
    frame = np.asarray(animation.convert("RGB"))
    assert (frame[:, 7:] == [255, 0, 0]).all() and not frame[:, :6].any()
    with pytest.raises(ValueError, match="five dimensions"):
        written(lambda w: w.add_video("film", videos[0]))


def test_boxes_are_drawn_into_a_picture(written):
    Image = pytest.importorskip("PIL.Image")
    found = written(lambda w: w.add_image_with_boxes("boxes", torch.zeros(1, 20, 30), torch.tensor([[2., 3, 20, 15]]),
                                                     rescale=2)).Images("boxes")[0]
    pixels = np.asarray(Image.open(io.BytesIO(found.encoded_image_string)).convert("RGB"))
    assert pixels.shape == (40, 60, 3) and pixels[16, 4, 0] > 100 and not pixels[16, 20].any()


def test_meshes_and_tensors_keep_their_elements(written):
    vertices, faces = torch.randn(1, 4, 3), torch.tensor([[[0, 1, 2], [1, 2, 3]]])

    def deed(writer):
        writer.add_mesh("shape", vertices, faces=faces, config_dict={"camera": {"cls": "PerspectiveCamera"}})
        writer.add_tensor("all", torch.arange(6).view(2, 3).to(torch.int16))
    events = written(deed)
    found = {tag: make_ndarray(events.Tensors(tag)[0].tensor_proto) for tag in events.Tags()["tensors"]}
    assert (found.pop("all") == np.arange(6).reshape(2, 3)).all() and len(found) == 2
    assert any(x.shape == (1, 4, 3) and np.allclose(x, vertices.numpy()) for x in found.values())
    assert any(x.shape == (1, 2, 3) and (x == faces.numpy()).all() for x in found.values())


def test_layouts_of_curves_and_known_histograms(written):
    from tensorboard.plugins.custom_scalar import layout_pb2

    layout = {"losses": {"both": ["Multiline", ["train", "test"]], "range": ["Margin", ["mean", "low", "high"]]}}

    def deed(writer):
        writer.add_custom_scalars(layout)
        writer.add_histogram_raw("h", 0, 2, 3, 3.0, 5.0, [1.0, 2.0], torch.tensor([1, 2]))
    events = written(deed)
    text = events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0]
    both, between = layout_pb2.Layout.FromString(text).category[0].chart
    assert list(both.multiline.tag) == ["train", "test"] and between.margin.series[0].upper == "high"
    value = events.Histograms("h")[0].histogram_value
    assert (value.num, value.sum_squares, list(value.bucket), list(value.bucket_limit)) == (3, 5, [1, 2], [1, 2])
    with pytest.raises(AssertionError, match="3 tags"):
        written(lambda w: w.add_custom_scalars_marginchart(["a", "b"]))
    with pytest.raises(ValueError, match="bucket"):
        written(lambda w: w.add_histogram_raw("h", 0, 2, 3, 3.0, 5.0, [1.0], [1, 2]))
