"""Images outside of archives: `ImageFolder`, a folder of pictures for each class, and `FakeData`, made up on demand."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from .. import Generator, randint, randn
from ..transforms.transforms import ToPILImage
from .vision import VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class DatasetFolder(VisionDataset):
    """Files in folders named after their classes, ``root/class/.../file.ext``; classes and files in alphabetical order.

    loader: makes a sample of a path.
    extensions: endings of the files to take, lower case; or ``is_valid_file``, a function of the path.
    allow_empty: whether a class may have no files; otherwise that is a FileNotFoundError.

    ``samples`` is the list of (path, class index), ``classes`` the names, ``class_to_idx`` name -> index.
    """

    def __init__(
        self,
        root: str | os.PathLike,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.loader = loader
        self.extensions = extensions
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]

    def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
        """The names of the classes, and their numbers. Override it for other arrangements of folders."""
        classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
        if not classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
        return classes, {name: i for i, name in enumerate(classes)}

    @staticmethod
    def make_dataset(
        directory: str,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The files to take, with the numbers of their classes."""
        if (extensions is None) == (is_valid_file is None):
            raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
        valid = is_valid_file or (lambda path: path.lower().endswith(tuple(extensions or ())))
        samples, empty = [], []
        for name in sorted(class_to_idx):
            folders = sorted(os.walk(os.path.join(directory, name), followlinks=True))
            paths = [os.path.join(folder, file) for folder, _, files in folders for file in sorted(files)]
            chosen = [(path, class_to_idx[name]) for path in paths if valid(path)]
            samples += chosen
            empty += [] if chosen else [name]
        if empty and not allow_empty:
            hint = f" Supported extensions are: {', '.join(extensions)}" if extensions else ""
            raise FileNotFoundError(f"Found no valid file for the classes {', '.join(empty)}.{hint}")
        return samples

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)

    def __len__(self) -> int:
        return len(self.samples)


def default_loader(path: str) -> Any:
    """The picture as an RGB image. Needs Pillow."""
    from PIL import Image

    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


class ImageFolder(DatasetFolder):
    """Pictures in folders named after their classes: ``root/dog/xxx.png``, ``root/cat/123.jpg``. Needs Pillow."""

    def __init__(
        self,
        root: str | os.PathLike,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples


class FakeData(VisionDataset):
    """``size`` images of random pixels with random labels, the same for the same index: for trying a program out.

    The state of the default generator is left as it was. Needs Pillow.
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: Sequence[int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.image_size = image_size
        self.num_classes = num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        generator = Generator().manual_seed(index + self.random_offset)
        pixels = randn(*self.image_size, generator=generator)
        target = randint(0, self.num_classes, (1,), generator=generator).item()
        return self._transformed(ToPILImage()(pixels), target)

    def __len__(self) -> int:
        return self.size
