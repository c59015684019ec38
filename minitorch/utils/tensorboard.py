"""`SummaryWriter`: training curves, histograms, pictures and texts for TensorBoard, as in ``torch.utils.tensorboard``.

The files are written by the package ``tensorboard`` (``pip install tensorboard``), which is imported when the first
writer is made. The methods of sounds, videos, meshes and layouts are in `tensorboard_media.py`.
"""

import functools
import io
import math
import os
import socket
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .model_graph import graph_of
from .png import encode_png
from .tensorboard_events import array_of, metadata_of, package, pixels_of
from .tensorboard_media import Media

__all__ = ["SummaryWriter"]


class SummaryWriter(Media):
    """Writes events into files of the folder ``log_dir``; close it or use it as a context manager.

    log_dir: default ``runs/<month and day>_<time>_<host name>`` followed by ``comment``.
    purge_step: TensorBoard forgets what an earlier, broken run wrote from this step on.
    max_queue, flush_secs: events are written out when so many wait or so many seconds have passed.
    filename_suffix: appended to the names of the files.

    Every ``tag`` names a diagram, ``global_step`` the place on its axis, ``walltime`` the time of the event (default:
    now). Values may be tensors, NumPy arrays or numbers.
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        package()
        if not log_dir:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S_") + socket.gethostname() + comment)
        self.log_dir, self.purge_step = str(log_dir), purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self._files: dict[str, Any] = {}
        self._embeddings: list[str] = []
        self._file(self.log_dir)

    def _file(self, folder: str):
        """The event file of a folder; the curves of `add_scalars` have a folder each."""
        if folder not in self._files:
            tb = package()
            self._files[folder] = tb.EventFileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            if self.purge_step is not None:
                start = tb.event.SessionLog(status=tb.event.SessionLog.START)
                for event in (tb.event.Event(file_version="brain.Event:2"), tb.event.Event(session_log=start)):
                    event.step, event.wall_time = self.purge_step, time.time()
                    self._files[folder].add_event(event)
        return self._files[folder]

    def _write(self, value, global_step, walltime, folder=None):
        tb = package()
        event = tb.event.Event(summary=tb.summary.Summary(value=[value]), wall_time=walltime or time.time())
        if global_step is not None:
            event.step = int(array_of(global_step))
        self._file(folder or self.log_dir).add_event(event)

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def add_scalar(
        self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False, _folder=None
    ):
        """One point of a curve. ``new_style`` stores a tensor, which also keeps float64 with ``double_precision``."""
        tb, value = package(), array_of(scalar_value)
        if value.size != 1:
            raise ValueError(f"add_scalar expects one number, got a value of shape {value.shape}")
        if new_style:
            kind = np.float64 if double_precision else np.float32
            name = "double_val" if double_precision else "float_val"
            number = "DT_DOUBLE" if double_precision else "DT_FLOAT"
            proto = tb.tensor.TensorProto(dtype=number, **{name: [float(kind(value.item()))]})
            data = {"tensor": proto, "metadata": metadata_of("scalars")}
        else:
            data = {"simple_value": float(value.item())}
        self._write(tb.summary.Summary.Value(tag=tag, **data), global_step, walltime, _folder)

    def add_scalars(self, main_tag, tag_scalar_dict: Mapping[str, Any], global_step=None, walltime=None):
        """One point of each of several curves in one diagram."""
        for name, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag}_{name}".replace("/", "_"))
            self.add_scalar(main_tag, value, global_step, walltime, _folder=folder)

    def add_histogram(self, tag, values, global_step=None, bins="auto", walltime=None, max_bins=None):
        """How the values are spread.

        bins: edges, a number, a rule of `numpy.histogram_bin_edges`, or "tensorflow" for edges that grow by a tenth.
        max_bins: if there would be more, so many bins of one width.
        """
        tb, values = package(), array_of(values).ravel().astype(np.float64)
        if values.size == 0:
            raise ValueError("The input has no element.")
        if isinstance(bins, str) and bins == "tensorflow":
            bins = _tensorflow_edges()
        counts, edges = np.histogram(values, bins)
        if max_bins is not None and len(counts) > max_bins:
            counts, edges = np.histogram(values, max_bins)
        kept = np.flatnonzero(counts)[[0, -1]] + [0, 1]  # without the empty buckets at both ends
        counts, edges = counts[slice(*kept)], edges[kept[0] : kept[1] + 1]
        # Limits are right ends: an empty bucket in front keeps the left end of the first one.
        histogram = tb.summary.HistogramProto(
            min=values.min(), max=values.max(), num=values.size, sum=values.sum(), sum_squares=values @ values,
            bucket_limit=edges.tolist(), bucket=[0, *counts.tolist()])
        self._write(tb.summary.Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None,
                          walltime=None):
        """A histogram whose numbers are known: `bucket_limits` are the upper ends of the buckets."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(f"{len(bucket_limits)} bucket_limits do not go with {len(bucket_counts)} bucket_counts")
        tb = package()
        numbers = dict(min=min, max=max, num=num, sum=sum, sum_squares=sum_squares)
        histogram = tb.summary.HistogramProto(**{name: float(x) for name, x in numbers.items()},
                                              bucket_limit=array_of(bucket_limits).tolist(),
                                              bucket=array_of(bucket_counts).tolist())
        self._write(tb.summary.Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: uint8, or floats from 0 to 1. dataformats: the order of its axes, with C of 1, 3 or 4 values."""
        self._picture(tag, pixels_of(array_of(img_tensor), dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """A batch of pictures, side by side in one."""
        batch, axes = array_of(img_tensor), dataformats.upper()
        if batch.ndim != len(axes) or "N" not in axes:
            raise ValueError(f"pictures of shape {batch.shape} do not go with dataformats={dataformats!r}")
        images = [pixels_of(image, axes.replace("N", "")) for image in np.moveaxis(batch, axes.index("N"), 0)]
        columns = min(8, len(images))
        blank = [np.zeros_like(images[0])] * (-len(images) % columns)
        rows = [np.concatenate((images + blank)[i : i + columns], 1) for i in range(0, len(images), columns)]
        self._picture(tag, np.concatenate(rows), global_step, walltime)

    def _picture(self, tag, pixels, global_step, walltime):
        tb, (height, width, channels) = package(), pixels.shape
        image = tb.summary.Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=encode_png(pixels))
        self._write(tb.summary.Summary.Value(tag=tag, image=image), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib, or a list of them; closed afterwards unless ``close=False``."""
        figures, pictures = figure if isinstance(figure, list) else [figure], []
        for each in figures:
            buffer = io.BytesIO()
            each.savefig(buffer, format="raw", dpi=each.dpi)
            width, height = each.canvas.get_width_height()
            pictures.append(np.frombuffer(buffer.getvalue(), np.uint8).reshape(height, width, 4))
            if close:
                import matplotlib.pyplot as plt

                plt.close(each)
        if isinstance(figure, list):
            self.add_images(tag, np.stack(pictures), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, pictures[0], global_step, walltime, "HWC")

    def add_text(self, tag, text_string: str, global_step=None, walltime=None):
        """A text, which TensorBoard reads as Markdown."""
        tb = package()
        shape = tb.shape.TensorShapeProto(dim=[tb.shape.TensorShapeProto.Dim(size=1)])
        proto = tb.tensor.TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=shape)
        value = tb.summary.Summary.Value(tag=f"{tag}/text_summary", metadata=metadata_of("text"), tensor=proto)
        self._write(value, global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """One run to compare with others: its settings and what came of them, in a folder of its own.

        hparam_dict: names and values (numbers, texts, truth values, tensors of one element; None is left out).
        metric_dict: names and results. hparam_domain_discrete: names and lists of all values that a setting can have.
        run_name: of the folder; default: the time.
        """
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        start, experiment = _hparams(hparam_dict, metric_dict, hparam_domain_discrete or {})
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        end = _hparams_package().data.SessionEndInfo(status="STATUS_SUCCESS")
        for tag, data in (("experiment", experiment), ("session_start_info", start), ("session_end_info", end)):
            content = _hparams_package().data.HParamsPluginData(version=0, **{tag: data}).SerializeToString()
            value = package().summary.Summary.Value(tag=f"_hparams_/{tag}", metadata=metadata_of("hparams", content))
            self._write(value, global_step, None, folder)
        for name, value in metric_dict.items():
            self.add_scalar(name, value, global_step, _folder=folder)

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Points (N, D) for TensorBoard's projector, with a label each, or a row of several, and a picture each.

        metadata: N labels, or N rows for the columns `metadata_header`. label_img: (N, C, H, W).
        """
        mat, step = array_of(mat), str(int(global_step or 0)).zfill(5)
        if mat.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        for found, word in ((metadata, "labels"), (label_img, "images")):
            if found is not None and len(found) != len(mat):
                raise AssertionError(f"#{word} should equal with #data points")
        name = "".join(c if c.isalnum() or c in "._-" else f"%{ord(c):02x}" for c in tag)
        folder = os.path.join(self.log_dir, step, name)
        os.makedirs(folder, exist_ok=True)

        def write(file, rows):
            with open(os.path.join(folder, file), "w", encoding="utf-8") as opened:
                opened.write("".join(["\t".join(map(str, row)) + "\n" for row in rows]))
        write("tensors.tsv", mat.tolist())
        lines = [f'tensor_name: "{tag}:{step}"', f'tensor_path: "{step}/{name}/tensors.tsv"']
        if metadata is not None:
            write("metadata.tsv", [metadata_header, *metadata] if metadata_header else [[x] for x in metadata])
            lines.append(f'metadata_path: "{step}/{name}/metadata.tsv"')
        if label_img is not None:
            images = [pixels_of(image, "CHW") for image in array_of(label_img)]
            side = math.ceil(math.sqrt(len(images)))
            blank = [np.zeros_like(images[0])] * (side * side - len(images))
            rows = [np.concatenate((images + blank)[i:i + side], 1) for i in range(0, side * side, side)]
            with open(os.path.join(folder, "sprite.png"), "wb") as opened:
                opened.write(encode_png(np.concatenate(rows)))
            height, width = images[0].shape[:2]
            lines.append(f'sprite {{ image_path: "{step}/{name}/sprite.png" single_image_dim: {width} '
                         f'single_image_dim: {height} }}')
        self._embeddings.append("embeddings {\n" + "".join([f"  {line}\n" for line in lines]) + "}\n")
        with open(os.path.join(self.log_dir, "projector_config.pbtxt"), "w", encoding="utf-8") as opened:
            opened.write("".join(self._embeddings))

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Precision and recall of a classifier of two classes, over thresholds.

        labels: the true classes, 0 or 1. predictions: the probabilities of class 1. num_thresholds: how many
        thresholds from 0 to 1, at most 127. weights: of the samples, 1 by default.
        """
        labels, predictions = (array_of(x).ravel().astype(np.float64) for x in (labels, predictions))
        weights = 1.0 if weights is None else array_of(weights).ravel()
        n = min(num_thresholds, 127)
        buckets = np.floor(predictions * (n - 1)).astype(np.int32)
        true, false = (np.histogram(buckets, n, (0, n - 1), weights=part * weights)[0][::-1].cumsum()[::-1]
                       for part in (labels, 1.0 - labels))             # at or above each threshold
        missed, precision = true[0] - true, true / np.maximum(true + false, 1e-7)
        self.add_pr_curve_raw(tag, true, false, false[0] - false, missed, precision,
                              true / np.maximum(true + missed, 1e-7), global_step, n, walltime=walltime)

    def add_pr_curve_raw(self, tag, true_positive_counts, false_positive_counts, true_negative_counts,
                         false_negative_counts, precision, recall, global_step=None, num_thresholds=127, weights=None,
                         walltime=None):
        """A curve of precision and recall whose six rows of numbers, by threshold, are known."""
        tb, n = package(), min(num_thresholds, 127)
        from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
        rows = np.stack([array_of(row) for row in (true_positive_counts, false_positive_counts, true_negative_counts,
                                                 false_negative_counts, precision, recall)])
        shape = tb.shape.TensorShapeProto(dim=[tb.shape.TensorShapeProto.Dim(size=size) for size in rows.shape])
        proto = tb.tensor.TensorProto(dtype="DT_FLOAT", float_val=rows.ravel().tolist(), tensor_shape=shape)
        metadata = metadata_of("pr_curves", PrCurvePluginData(version=0, num_thresholds=n).SerializeToString())
        self._write(tb.summary.Summary.Value(tag=tag, metadata=metadata, tensor=proto), global_step, walltime)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The ops that ``model(*input_to_model)`` runs in eval mode, by module; ValueError without an input.

        verbose: print the graph. `use_strict_trace` says nothing here, where the model is run and not traced.
        """
        if input_to_model is None:
            raise ValueError("add_graph() runs the model: give it an input, add_graph(model, input_to_model)")
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        event = package().event.Event(graph_def=graph.SerializeToString())
        event.wall_time = time.time()
        self._file(self.log_dir).add_event(event)

    def flush(self):
        """Write out what waits."""
        for file in self._files.values():
            file.flush()

    def close(self):
        """Write what is left and close the files."""
        for file in self._files.values():
            file.flush()
            file.close()
        self._files = {}

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


@functools.cache
def _hparams_package():
    """The messages of TensorBoard's plugin for settings."""
    package()
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
    return SimpleNamespace(api=api_pb2, data=plugin_data_pb2, struct=struct_pb2)


def _hparams(settings, metrics, domains):
    """The beginning of a run, with its settings, and the experiment that it is part of."""
    tb = _hparams_package()
    start, infos = tb.data.SessionStartInfo(), []
    for name, value in settings.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = float(array_of(value).ravel()[0])
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        text = isinstance(value, str)
        setattr(start.hparams[name], "string_value" if text else "number_value", value)
        info = tb.api.HParamInfo(name=name, type="DATA_TYPE_STRING" if text else "DATA_TYPE_FLOAT64")
        if name in domains:
            if not isinstance(domains[name], list) or not all(isinstance(d, type(value)) for d in domains[name]):
                raise TypeError(f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                                f"hparam_dict[{name}].")
            info.domain_discrete.extend(domains[name])
        infos.append(info)
    metric_infos = [tb.api.MetricInfo(name=tb.api.MetricName(tag=name)) for name in metrics]
    return start, tb.api.Experiment(hparam_infos=infos, metric_infos=metric_infos)


@functools.cache
def _tensorflow_edges() -> np.ndarray:
    """Edges from -1e20 to 1e20 that grow by a tenth each, with 0 in the middle."""
    positive = 1e-12 * 1.1 ** np.arange(math.ceil(math.log(1e32, 1.1)))
    return np.concatenate([-positive[::-1], [0], positive])
