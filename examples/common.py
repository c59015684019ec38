"""Shared by the programs of this folder: options, data, a progress bar, a folder for their
pictures.

Like the programs themselves it says ``import torch``, and runs on PyTorch as on minitorch.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

DIGITS = Path(__file__).resolve().parents[1] / "minitorch" / "datasets" / "digits.npz"


def options(description, **defaults):
    """Command line options --seed, --out and one for each of `defaults`, whose types they take."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("examples_output"), help="folder for pictures and models")
    for name, value in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help=f"default: {value}")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    return args


def digits(train):
    """1,442 images of handwritten digits for training or 355 for testing, (N, 1, 8, 8) from 0 to 1, and their labels.

    Every fifth image of each digit is for testing. The data are from the UCI repository (E. Alpaydin, C. Kaynak).
    """
    with np.load(DIGITS) as file:
        images, labels = file["images"], file["labels"].astype(np.int64)
    testing = np.zeros(len(labels), bool)
    for digit in range(10):
        testing[np.flatnonzero(labels == digit)[4::5]] = True
    chosen = ~testing if train else testing
    return torch.from_numpy(images[chosen]).unsqueeze(1).float() / 16, torch.from_numpy(labels[chosen])


def documentation(size=300_000):
    """The first `size` characters of Python's language reference, the texts that ``help("topics")`` lists."""
    from pydoc_data.topics import topics
    return "\n\n".join(topics[name] for name in sorted(topics))[:size].encode("ascii", "ignore").decode()


class progress:
    """A bar over a loop, from tqdm if it is installed; remembers the losses that it is shown."""

    def __init__(self, iterable, **options):
        try:
            from tqdm import tqdm
        except ImportError:
            print("no progress bar: pip install tqdm")
            self.bar = None
        else:
            self.bar = tqdm(iterable, **options)
        self.iterable, self.losses = iterable if self.bar is None else self.bar, []

    def __iter__(self):
        yield from self.iterable

    def show(self, loss, **more):
        """Note the loss of a step, and show it."""
        self.losses.append(float(loss))
        if self.bar is not None:
            self.bar.set_postfix(loss=f"{self.losses[-1]:.4f}", **more)

    def summary(self):
        """Print and return the mean loss of the first and of the last tenth of the steps."""
        tenth = max(1, len(self.losses) // 10)
        first, last = np.mean(self.losses[:tenth]), np.mean(self.losses[-tenth:])
        print(f"loss: {first:.4f} at first, {last:.4f} at last")
        return self.losses


def pyplot(args):
    """``matplotlib.pyplot``, for drawing into files of ``args.out``; None, saying so, where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: pip install matplotlib")
        return None
    matplotlib.use("Agg")
    args.out.mkdir(parents=True, exist_ok=True)
    import matplotlib.pyplot as plt
    return plt


def save(figure, args, name):
    """Save a figure into ``args.out`` and say where."""
    figure.savefig(args.out / name, dpi=120)
    print(f"picture: {args.out / name}")
