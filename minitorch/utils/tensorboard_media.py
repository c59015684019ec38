"""Sounds, videos, meshes, pictures with boxes and layouts of diagrams for TensorBoard: a part of `SummaryWriter`."""

import io
import json
import wave
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .tensorboard_events import array_of, metadata_of, package, pixels_of

__all__ = ["Media"]


class Media:
    """The methods. A writer has ``_write(value, global_step, walltime)`` and ``_picture``."""

    _write: Any
    _picture: Any

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound (L,) or (1, L) of floats from -1 to 1, beyond which it is cut off; written as WAV of 16 bits."""
        sound = array_of(snd_tensor).squeeze()
        if sound.ndim != 1:
            raise AssertionError(f"a sound has one dimension, got shape {array_of(snd_tensor).shape}")
        file = io.BytesIO()
        with wave.open(file, "wb") as opened:
            opened.setnchannels(1)
            opened.setsampwidth(2)
            opened.setframerate(sample_rate)
            opened.writeframes((sound.clip(-1, 1) * 32767).astype("<i2").tobytes())
        tb = package()
        audio = tb.summary.Summary.Audio(sample_rate=sample_rate, num_channels=1, length_frames=len(sound),
                                         encoded_audio_string=file.getvalue(), content_type="audio/wav")
        self._write(tb.summary.Summary.Value(tag=tag, audio=audio), global_step, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """A batch of videos (N, T, C, H, W), side by side, as a GIF; values as in `add_image`. Needs Pillow."""
        videos = array_of(vid_tensor)
        if videos.ndim != 5:
            raise ValueError(f"videos have five dimensions, (N, T, C, H, W), got shape {videos.shape}")
        frames = [np.concatenate([pixels_of(video[t], "CHW") for video in videos], 1) for t in range(videos.shape[1])]
        height, width, channels = frames[0].shape
        picture = package().summary.Summary.Image(height=height, width=width, colorspace=channels,
                                                  encoded_image_string=as_gif(frames, fps))
        self._write(package().summary.Summary.Value(tag=tag, image=picture), global_step, walltime)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1,
                             dataformats="CHW", labels=None):
        """A picture with boxes (N, 4), each the two corners, and a label for each, if given; needs Pillow.

        rescale: a factor of the picture's size, after the boxes are drawn.
        """
        from PIL import Image, ImageDraw

        pixels, boxes = pixels_of(array_of(img_tensor), dataformats), array_of(box_tensor)
        names = [labels] if isinstance(labels, str) else labels
        names = names if names is not None and len(names) == len(boxes) else [""] * len(boxes)
        image = Image.fromarray(np.repeat(pixels, 3, 2) if pixels.shape[2] == 1 else pixels)
        pen = ImageDraw.Draw(image)
        for box, name in zip(boxes.tolist(), names, strict=True):
            pen.rectangle(box, outline="red", width=2)
            pen.text((box[0] + 3, box[1] + 2), name, fill="red")
        image = image.resize([round(size * rescale) for size in image.size])
        self._picture(tag, np.asarray(image), global_step, walltime)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Points (B, N, 3) of space, with colors (B, N, 3) from 0 to 255 and triangles (B, F, 3) of their indices.

        config_dict: three.js's classes of camera, lights and material.
        """
        from tensorboard.plugins.mesh import metadata
        from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

        kinds = {MeshPluginData.VERTEX: vertices, MeshPluginData.FACE: faces, MeshPluginData.COLOR: colors}
        given = {kind: array_of(data) for kind, data in kinds.items() if data is not None}
        components = metadata.get_components_bitmask(list(given))
        for kind, data in given.items():
            if data.ndim != 3 or data.shape[2] != 3:
                raise ValueError(f"vertices, colors and faces have shape (B, N, 3), got {data.shape}")
            about = metadata.create_summary_metadata(tag, "", kind, components, data.shape, None,
                                                     json_config=json.dumps(config_dict or {}, sort_keys=True))
            name = metadata.get_instance_name(tag, kind)
            self._write(package().summary.Summary.Value(tag=name, tensor=proto_of(data), metadata=about), global_step,
                        walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """All elements of a tensor."""
        value = package().summary.Summary.Value(tag=tag, tensor=proto_of(array_of(tensor)),
                                                metadata=metadata_of("tensor"))
        self._write(value, global_step, walltime)

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence]]):
        """How curves are put together: ``{category: {title: ["Multiline", tags] or ["Margin", [tag, low, high]]}}``."""
        from tensorboard.plugins.custom_scalar import layout_pb2 as proto

        def chart(title, kind, tags):
            if kind != "Margin":
                return proto.Chart(title=title, multiline=proto.MultilineChartContent(tag=tags))
            if len(tags) != 3:
                raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
            series = proto.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
            return proto.Chart(title=title, margin=proto.MarginChartContent(series=[series]))

        made = proto.Layout(category=[
            proto.Category(title=name, chart=[chart(title, *content) for title, content in charts.items()])
            for name, charts in layout.items()])
        tb = package()
        text = tb.tensor.TensorProto(dtype="DT_STRING", string_val=[made.SerializeToString()],
                                     tensor_shape=tb.shape.TensorShapeProto())
        value = tb.summary.Summary.Value(tag="custom_scalars__config__", tensor=text,
                                         metadata=metadata_of("custom_scalars"))
        self._write(value, None, None)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """One diagram of several curves, named by their tags or by regular expressions."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """One diagram of a curve between two others: three tags."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})


def proto_of(array):
    """An array as TensorBoard's message."""
    from tensorboard.util.tensor_util import make_tensor_proto

    return make_tensor_proto(np.ascontiguousarray(array))


def as_gif(frames, fps):
    """Pictures (H, W, C) as an animation, so many of them a second."""
    from PIL import Image

    first, *others = [Image.fromarray(frame[..., 0] if frame.shape[2] == 1 else frame) for frame in frames]
    file = io.BytesIO()
    first.save(file, format="GIF", save_all=True, append_images=others, duration=round(1000 / fps), loop=0)
    return file.getvalue()
