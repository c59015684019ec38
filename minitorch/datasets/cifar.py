"""`CIFAR10` and `CIFAR100`, from the archives for Python (pickles, read without running code) or the binary ones."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .archives import extract_members
from .utils import check_integrity, fetch
from .vision import VisionDataset


class CIFAR10(VisionDataset):
    """Photographs of ten kinds of things: 50,000 of 32x32 pixels for training, 10,000 for testing (A. Krizhevsky).

    root: the archive ``cifar-10-python.tar.gz``, or the folder ``cifar-10-batches-py`` unpacked from it, or the folder
        ``cifar-10-batches-bin`` of the binary version, lies here.
    train: the training images, or the test images.
    transform, target_transform: applied to the image and to the label of each item.
    download: fetch and check the archive if there is none of these.

    ``data`` is a uint8 array (N, 32, 32, 3), ``targets`` a list of ints. RuntimeError where the files are not there, or
    damaged. The files for Python are pickles, which could run any code when loaded; here they are read by an unpickler
    that makes nothing but arrays, lists, dicts and strings.
    """

    base_folder = "cifar-10-batches-py"
    binary_folder = "cifar-10-batches-bin"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {"filename": "batches.meta", "key": "label_names", "md5": "5ff9c542aee3614f3951f8cda6e48888"}
    label_key = "labels"
    label_bytes = 1  # in the binary version, before each image; the last of them is the label
    binary_names = "batches.meta.txt"

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
        folder, read = self._locate()
        pixels, labels = zip(*(read(folder, name) for name, _ in (self.train_list if train else self.test_list)))
        self.data = np.ascontiguousarray(np.concatenate(pixels).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.targets = np.concatenate(labels).tolist()
        self.classes = self._class_names(folder)
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def download(self) -> None:
        """Fetch the archive for Python and unpack it, unless its files are there and right."""
        files = [*self.train_list, *self.test_list, [self.meta["filename"], self.meta["md5"]]]
        folder = Path(self.root, self.base_folder)
        if all(check_integrity(folder / name, md5) for name, md5 in files):
            return
        archive = Path(self.root, self.filename)
        fetch([self.url], archive, self.tgz_md5)
        self._unpack(archive)

    def _unpack(self, archive: Path) -> None:
        names = [name for name, _ in self.train_list + self.test_list] + [self.meta["filename"]]
        extract_members(archive, [f"{self.base_folder}/{name}" for name in names], self.root)

    def _locate(self) -> tuple[Path, Callable]:
        """The folder with the files, and the method that reads them."""
        python, binary = Path(self.root, self.base_folder), Path(self.root, self.binary_folder)
        if python.is_dir():
            return python, self._read_pickle
        if binary.is_dir():
            return binary, self._read_binary
        archive = Path(self.root, self.filename)
        if archive.exists():
            self._unpack(archive)
            return python, self._read_pickle
        raise RuntimeError(
            "Dataset not found or corrupted. You can use download=True to download it, or put the archive "
            f"{self.url} into {os.path.abspath(self.root)}"
        )

    def _read_pickle(self, folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
        entry = _load(folder / name)
        if type(entry) is not dict or not {"data", self.label_key} <= entry.keys():
            raise RuntimeError(f"{folder / name} is not a CIFAR batch: no 'data' and {self.label_key!r} in it")
        return _checked(folder / name, entry["data"], entry[self.label_key])

    def _read_binary(self, folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
        path = folder / f"{name}.bin"
        record = self.label_bytes + 3072
        if not path.exists() or path.stat().st_size % record:
            raise RuntimeError(f"{path} is missing, or damaged: its size should be a multiple of {record} bytes")
        records = np.fromfile(path, np.uint8).reshape(-1, record)
        return _checked(path, records[:, self.label_bytes :], records[:, self.label_bytes - 1])

    def _class_names(self, folder: Path) -> list[str]:
        if folder.name == self.base_folder:
            path = folder / self.meta["filename"]
            entry = _load(path)
            names = entry.get(self.meta["key"]) if type(entry) is dict else None
            if type(names) is not list or not all(type(name) is str for name in names):
                raise RuntimeError(f"{path} should hold a list of names as {self.meta['key']!r}")
            return names
        path = folder / self.binary_names
        try:
            return path.read_text(encoding="utf-8").split()
        except (UnicodeDecodeError, FileNotFoundError) as error:
            raise RuntimeError(f"{path} cannot be read: {error}") from error

    def __getitem__(self, index: int):
        return self._item(self.data[index], self.targets[index])

    def __len__(self) -> int:
        return len(self.data)

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """As `CIFAR10`, with a hundred kinds of things; folders ``cifar-100-python`` and ``cifar-100-binary``."""

    base_folder = "cifar-100-python"
    binary_folder = "cifar-100-binary"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {"filename": "meta", "key": "fine_label_names", "md5": "7973b15100ade9c7d40fb424638fde48"}
    label_key = "fine_labels"
    label_bytes = 2  # the coarse label, then the fine one
    binary_names = "fine_label_names.txt"


def _load(path: Path) -> Any:
    from .plain_pickle import load_plain_pickle

    return load_plain_pickle(path)


def _checked(path: Path, pixels: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    if type(labels) is list:  # which NumPy would take apart to any depth
        labels = np.array(labels if all(type(x) is int and 0 <= x < 2**31 for x in labels) else None)
    right = isinstance(pixels, np.ndarray) and pixels.dtype == np.uint8 and isinstance(labels, np.ndarray)
    if not right or labels.dtype.kind not in "iu" or labels.ndim != 1 or pixels.shape != (len(labels), 3072):
        raise RuntimeError(f"{path} is not a CIFAR batch: it should hold N labels and uint8 pixels of shape (N, 3072)")
    return pixels, labels
