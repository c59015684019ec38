"""Replacements for downloads of public programs: small data sets in the formats that they read (see
`public.py`).

MNIST and its like are scikit-learn's digits, enlarged; CIFAR is noise. They are written once, to the folder "data" of
the folder of programs, and the data sets of torchvision look there, whatever folder a program names.
"""

import contextlib
import gzip
import os
import pickle
import struct
import sys
from pathlib import Path

import numpy as np

DATA = Path(os.environ["PROGRAMS"]) / "data"


def write_mnist(folder, images, labels):
    folder.mkdir(parents=True, exist_ok=True)
    for part, rows in (("train", slice(0, 1280)), ("t10k", slice(1280, 1600))):
        for kind, array in (("images-idx3", images[rows]), ("labels-idx1", labels[rows].astype(np.uint8))):
            head = struct.pack(f">i{array.ndim}i", 0x800 + array.ndim, *array.shape)
            (folder / f"{part}-{kind}-ubyte").write_bytes(head + array.tobytes())
            (folder / f"{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(head + array.tobytes()))


def write_cifar(folder, files, keys, count, names):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for name in files:
        images = rng.integers(0, 256, (count, 3072), dtype=np.uint8)
        labels = {key: rng.integers(0, n, count).tolist() for key, n in keys.items()}
        (folder / name).write_bytes(pickle.dumps({"data": images, "filenames": ["image"] * count, **labels}))
    (folder / ("meta" if "fine_labels" in keys else "batches.meta")).write_bytes(pickle.dumps(names))


def write_all():
    from sklearn.datasets import load_digits
    digits, labels = load_digits(return_X_y=True)
    images = np.zeros((len(digits), 28, 28), np.uint8)
    images[:, 2:26, 2:26] = np.kron(digits.reshape(-1, 8, 8), np.ones((3, 3))) * 15.9
    for name in ("MNIST", "FashionMNIST", "KMNIST"):
        write_mnist(DATA / name / "raw", images, labels)
    ten = "airplane automobile bird cat deer dog frog horse ship truck".split()
    write_cifar(DATA / "cifar-10-batches-py", [*[f"data_batch_{i}" for i in range(1, 6)], "test_batch"],
                {"labels": 10}, 64, {"label_names": ten})
    write_cifar(DATA / "cifar-100-python", ["train", "test"], {"fine_labels": 100, "coarse_labels": 20}, 320,
                {"fine_label_names": list(map(str, range(100))), "coarse_label_names": list(map(str, range(20)))})


def at_hand(cls):
    """Have a data set look for its files where they are."""
    init = cls.__init__

    def __init__(self, root=None, *args, **kwargs):
        init(self, DATA, *args, **kwargs)
    cls.__init__ = __init__


def look_there():
    from torchvision import datasets
    from torchvision.datasets import cifar, mnist
    for name in ("MNIST", "FashionMNIST", "KMNIST", "CIFAR10", "CIFAR100"):
        cls = getattr(datasets, name)
        if "__init__" in vars(cls):
            at_hand(cls)
    cifar.check_integrity = mnist.check_integrity = lambda *args: True          # other files, other check sums


if not DATA.exists():
    write_all()
with contextlib.suppress(ImportError):
    import _torchvision_shim  # noqa: F401  (for a torchvision whose compiled part is for another PyTorch)
with contextlib.suppress(ImportError):
    look_there()
with contextlib.suppress(ImportError):                     # notebooks run outside of a browser
    import tqdm
    sys.modules["tqdm.notebook"] = tqdm
with contextlib.suppress(ImportError):
    import IPython.display
    IPython.display.set_matplotlib_formats = lambda *args, **kwargs: None
