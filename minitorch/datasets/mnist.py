"""`MNIST`, the data sets in the same form, `FashionMNIST` and `KMNIST`, and IDX, the format of their files."""

import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .. import from_numpy
from ..extend import warn
from ..utils.bounds import exactly, most_of, numbers, size_of
from .utils import check_integrity, fetch
from .vision import ImagesInMemory


def renamed(old: str, new: str) -> property:
    """An attribute under its old name, which warns as torchvision does."""

    def get(self):
        warn(f"{old} has been renamed {new}")
        return getattr(self, new)

    return property(get, doc=f"The old name of `{new}`.")


class MNIST(ImagesInMemory):
    """Handwritten digits: 60,000 images of 28x28 for training, 10,000 for testing (Y. LeCun, C. Cortes, C. Burges).

    root: the four files are in ``root/MNIST/raw``, packed (``train-images-idx3-ubyte.gz``) or not.
    train: the training images, or the test images.
    transform, target_transform: applied to the image and to the label of each item.
    download: fetch what is missing, check it, and keep it packed.

    ``data`` is uint8 (N, 28, 28), ``targets`` int64 (N,). RuntimeError where the files are not there, or damaged.
    """

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"]

    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]

    classes = [
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ]

    def __init__(
        self,
        root: str | os.PathLike,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        prefix = "train" if train else "t10k"
        images = self._read(f"{prefix}-images-idx3-ubyte", ndim=3)
        labels = self._read(f"{prefix}-labels-idx1-ubyte", ndim=1)
        if len(images) != len(labels):
            raise RuntimeError(f"{self.raw_folder} holds {len(images)} {prefix} images but {len(labels)} labels")
        self.data = from_numpy(images)
        self.targets = from_numpy(labels.astype(np.int64))

    train_data, test_data = renamed("train_data", "data"), renamed("test_data", "data")
    train_labels, test_labels = renamed("train_labels", "targets"), renamed("test_labels", "targets")

    @property
    def processed_folder(self) -> str:
        """Where old versions of torchvision kept tensors; nothing is written there."""
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def raw_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "raw")

    def download(self) -> None:
        """Fetch the files that are not there yet, from the first mirror that has them."""
        for name, checksum in self.resources:
            packed = Path(self.raw_folder, name)
            if not check_integrity(packed.with_suffix("")):
                fetch([mirror + name for mirror in self.mirrors], packed, checksum)

    def _read(self, name: str, ndim: int) -> np.ndarray:
        for path in (Path(self.raw_folder, name), Path(self.raw_folder, name + ".gz")):
            if path.exists():
                return read_idx(path, ndim)
        raise RuntimeError(
            f"Dataset not found. You can use download=True to download it, or put {name}.gz from {self.mirrors[0]} "
            f"into {os.path.abspath(self.raw_folder)}"
        )

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Articles of clothing in the form of `MNIST` (H. Xiao, K. Rasul, R. Vollgraf), under ``root/FashionMNIST/raw``."""

    mirrors = [
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ]

    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]

    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """Cursive Japanese characters in the form of `MNIST` (T. Clanuwat et al.), under ``root/KMNIST/raw``."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]

    resources = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]

    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


# The third byte of an IDX file names the type of its numbers, which are big-endian.
_IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | os.PathLike, ndim: int | None = None) -> np.ndarray:
    """The array in an IDX file, packed by gzip if its name ends in ``.gz``, in the machine's byte order.

    The format: two zero bytes, a byte for the type, a byte for the number of dimensions, the dimensions as big-endian
    32-bit integers, the numbers. RuntimeError where the file is not of this form, damaged, or has not
    ``ndim`` dimensions.
    """
    packed = str(path).endswith(".gz")
    size = os.path.getsize(path)
    with _opened(path, packed) as file:
        try:
            return _idx_array(file, path, ndim, most_of(size) if packed else size, size)
        except (EOFError, OSError, ValueError, struct.error, zlib.error) as error:
            raise RuntimeError(f"{path} is damaged: {error}. Delete it and download it again.") from error


def _opened(path: str | os.PathLike, packed: bool):
    import gzip

    return gzip.open(path) if packed else open(path, "rb")


def _idx_array(file, path: str | os.PathLike, ndim: int | None, most: int, size: int) -> np.ndarray:
    """The array in an open file, if it takes no more than `most` bytes; nothing is read before that is known."""
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_TYPES:
        raise RuntimeError(f"{path} is not an IDX file: it begins with {head!r}")
    dtype, dims = np.dtype(_IDX_TYPES[head[2]]), head[3]
    if ndim is not None and dims != ndim:
        raise RuntimeError(f"{path} should hold an array of {ndim} dimensions, but has {dims}")
    shape = struct.unpack(f">{dims}I", exactly(file, 4 * dims).tobytes())
    expected = 4 + 4 * dims + size_of(shape, dtype.itemsize)
    if expected > most:
        raise ValueError(f"an array of shape {shape} makes {expected} bytes, the file has {size}")
    data = exactly(file, expected - 4 - 4 * dims)
    if file.read(1):
        raise ValueError(f"an array of shape {shape} makes {expected} bytes, the file has more")
    return numbers(data, dtype, shape)
