"""The image data sets, from files written here in their real formats; downloads, from a server on this machine."""

import functools
import gzip
import hashlib
import http.server
import io
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import datasets, transforms
from minitorch.datasets import utils, vision
from minitorch.datasets.mnist import read_idx
from minitorch.datasets.plain_pickle import load_plain_pickle
from minitorch.utils.data import DataLoader

# Digits


def test_digits_split_and_contents():
    train, test, whole = (datasets.Digits(train=which) for which in (True, False, None))
    assert (len(train), len(test), len(whole)) == (1442, 355, 1797)
    assert whole.data.dtype == minitorch.uint8 and whole.data.shape == (1797, 8, 8)
    assert whole.data.min() == 0 and whole.data.max() == 16
    assert np.bincount(whole.targets.numpy()).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert np.bincount(test.targets.numpy()).min() >= 34
    rows = {digits.tobytes() for digits in np.concatenate([train.data.numpy(), test.data.numpy()])}
    assert rows == {digits.tobytes() for digits in whole.data.numpy()}
    assert whole.data[0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0] and whole.targets[:4].tolist() == [0, 1, 2, 3]


def test_digits_as_tensors_and_items():
    digits = datasets.Digits("ignored", transform=transforms.ToTensor(), target_transform=str)
    image, label = digits[3]
    assert image.shape == (1, 8, 8) and image.dtype == minitorch.float32 and image.max() <= 16 / 255
    assert label == str(digits.targets[3].item())
    x, y = digits.tensors()
    assert x.shape == (1442, 1, 8, 8) and x.dtype == minitorch.float32 and x.max() == 1 and y is digits.targets


def test_digits_file_is_small_and_attributed():
    folder = os.path.dirname(datasets.__file__)
    assert os.path.getsize(os.path.join(folder, "digits.npz")) < 100_000
    with open(os.path.join(folder, "digits.txt")) as file:
        text = file.read()
    assert all(word in text for word in ("E. Alpaydin", "C. Kaynak", "UCI", "CC BY 4.0"))


def test_repr_is_torchvisions():
    digits = datasets.Digits(transform=transforms.Compose([transforms.ToTensor()]))
    assert repr(digits) == (
        "Dataset Digits\n    Number of datapoints: 1442\n    Split: Train\n    StandardTransform\n"
        "Transform: Compose(\n               ToTensor()\n           )"
    )


# IDX and MNIST


CODES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def idx_bytes(array, code=0x08):
    return struct.pack(">BBBB", 0, 0, code, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@given(st.sampled_from(sorted(CODES)), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.booleans())
def test_idx_files_of_every_type(tmp_path_factory, code, shape, packed):
    array = np.arange(np.prod(shape)).astype(CODES[code]).reshape(shape)
    path = tmp_path_factory.mktemp("idx") / ("a.gz" if packed else "a")
    path.write_bytes(gzip.compress(idx_bytes(array, code)) if packed else idx_bytes(array, code))
    read = read_idx(path)
    assert read.dtype.isnative and read.dtype == array.dtype.newbyteorder("=") and (read == array).all()
    assert read.shape == array.shape and read.flags.writeable


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not an IDX file"),
        (b"PK\x03\x04rest", "is not an IDX file"),
        (idx_bytes(np.zeros((2, 3), np.uint8))[:-1], "is damaged.*makes 18 bytes, the file has 17"),
        (idx_bytes(np.zeros((2, 3), np.uint8)) + b"x", "is damaged"),
        (idx_bytes(np.zeros((2, 3), np.uint8))[:7], "is damaged"),
        (idx_bytes(np.zeros(3, np.uint8)), "should hold an array of 2 dimensions, but has 1"),
    ],
)
def test_idx_errors(tmp_path, data, message):
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(RuntimeError, match=message):
        read_idx(tmp_path / "a", ndim=2)


def write_mnist(root, name="MNIST", packed=True, n=5):
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    written = {}
    for prefix in ("train", "t10k"):
        images, labels = rng.integers(0, 256, (n, 28, 28), np.uint8), rng.integers(0, 10, n, np.uint8)
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            data = idx_bytes(array)
            path = folder / f"{prefix}-{kind}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(data) if packed else data)
        written[prefix] = images, labels
    return written


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("cls", [datasets.MNIST, datasets.FashionMNIST, datasets.KMNIST])
def test_mnist_reads_its_files(tmp_path, cls, packed):
    written = write_mnist(tmp_path, cls.__name__, packed)
    for train, prefix in ((True, "train"), (False, "t10k")):
        data = cls(str(tmp_path), train=train)
        images, labels = written[prefix]
        assert data.data.dtype == minitorch.uint8 and (data.data.numpy() == images).all()
        assert data.targets.dtype == minitorch.int64 and data.targets.tolist() == labels.tolist()
        image, label = data[2]
        assert (np.asarray(image) == images[2]).all() and label == labels[2] and type(label) is int
    assert len(cls.classes) == 10 and data.class_to_idx[cls.classes[3]] == 3
    assert repr(data) == (
        f"Dataset {cls.__name__}\n    Number of datapoints: 5\n    Root location: {tmp_path}\n    Split: Test"
    )


def test_images_are_arrays_without_pillow(tmp_path, monkeypatch):
    written = write_mnist(tmp_path)
    to_tensor = transforms.ToTensor()
    with_pillow = datasets.MNIST(tmp_path, transform=to_tensor)[1][0]
    monkeypatch.setattr(vision, "pillow", lambda: None)
    data = datasets.MNIST(tmp_path)
    image, _ = data[1]
    assert type(image) is np.ndarray and image.dtype == np.uint8 and (image == written["train"][0][1]).all()
    image[:] = 0
    assert (data[1][0] == written["train"][0][1]).all()  # a copy
    assert minitorch.equal(to_tensor(data[1][0]), with_pillow)


def test_mnist_in_a_loader(tmp_path):
    written = write_mnist(tmp_path)
    loader = DataLoader(datasets.MNIST(tmp_path, transform=transforms.ToTensor()), batch_size=3)
    images, labels = next(iter(loader))
    assert images.shape == (3, 1, 28, 28) and labels.dtype == minitorch.int64
    assert np.allclose(images.numpy()[:, 0] * 255, written["train"][0][:3])


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"(?s)not found. You can use download=True.*train-images.*MNIST.raw"):
        datasets.MNIST(tmp_path)
    write_mnist(tmp_path)
    path = tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RuntimeError, match="train-images-idx3-ubyte.gz is damaged.*download it again"):
        datasets.MNIST(tmp_path)
    path.write_bytes(gzip.compress(idx_bytes(np.zeros((4, 28, 28), np.uint8))))
    with pytest.raises(RuntimeError, match="4 train images but 5 labels"):
        datasets.MNIST(tmp_path)


# CIFAR


def cifar_batch(n, key, seed):
    rng = np.random.default_rng(seed)
    entry = {"data": rng.integers(0, 256, (n, 3072), np.uint8), key: rng.integers(0, 10, n).tolist()}
    return entry | {"batch_label": f"batch {seed}", "filenames": [f"{i}.png" for i in range(n)]}


def cifar_files(cls, n=3):
    """Name -> contents, as in the archive for Python (pickle protocol 2), and the data."""
    names = [name for name, _ in cls.train_list + cls.test_list]
    batches = {name: cifar_batch(n, cls.label_key, seed) for seed, name in enumerate(names)}
    files = {name: pickle.dumps(batch, protocol=2) for name, batch in batches.items()}
    files[cls.meta["filename"]] = pickle.dumps({cls.meta["key"]: [f"class {i}" for i in range(10)]}, protocol=2)
    return files, batches


def tarball(folder, files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"{folder}/{name}" if folder else name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def check_cifar(data, batches, names, key):
    pixels = np.concatenate([batches[name]["data"] for name in names]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    assert data.data.shape == pixels.shape and (data.data == pixels).all()
    assert data.targets == [label for name in names for label in batches[name][key]]
    image, label = data[1]
    assert np.asarray(image).tolist() == pixels[1].tolist() and label == data.targets[1]


@pytest.mark.parametrize("cls", [datasets.CIFAR10, datasets.CIFAR100])
@pytest.mark.parametrize("form", ["folder", "archive"])
def test_cifar_for_python(tmp_path, cls, form):
    files, batches = cifar_files(cls)
    if form == "folder":
        (tmp_path / cls.base_folder).mkdir()
        for name, data in files.items():
            (tmp_path / cls.base_folder / name).write_bytes(data)
    else:
        (tmp_path / cls.filename).write_bytes(tarball(cls.base_folder, files))
    check_cifar(cls(tmp_path), batches, [name for name, _ in cls.train_list], cls.label_key)
    test = cls(tmp_path, train=False)
    check_cifar(test, batches, [name for name, _ in cls.test_list], cls.label_key)
    assert test.classes[3] == "class 3" and test.class_to_idx["class 3"] == 3
    assert repr(test).endswith("Split: Test") and f"Root location: {tmp_path}" in repr(test)


@pytest.mark.parametrize("cls", [datasets.CIFAR10, datasets.CIFAR100])
def test_cifar_binary_version(tmp_path, cls):
    _, batches = cifar_files(cls)
    folder = tmp_path / cls.binary_folder
    folder.mkdir()
    for name, batch in batches.items():
        labels = np.array(batch[cls.label_key], np.uint8)[:, None].repeat(cls.label_bytes, 1)
        labels[:, :-1] = 99  # the coarse label is not the one wanted
        (folder / f"{name}.bin").write_bytes(np.concatenate([labels, batch["data"]], 1).tobytes())
    (folder / cls.binary_names).write_text("\n".join(f"class{i}" for i in range(10)) + "\n\n")
    data = cls(tmp_path)
    check_cifar(data, batches, [name for name, _ in cls.train_list], cls.label_key)
    assert data.classes[9] == "class9"
    (folder / f"{cls.test_list[0][0]}.bin").write_bytes(b"short")
    with pytest.raises(RuntimeError, match="multiple of"):
        cls(tmp_path, train=False)


def test_cifar_as_python_2_wrote_it(tmp_path):
    """Protocol 2 of Python 2: byte strings as they are, no codec."""
    raw = bytes(range(256)) * 12
    body = (
        b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85U\x01b"
        b"\x87Rq\x05(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89T\x00\x0c\x00\x00" + raw + b"tbU\x06labelsq\x07]q\x08K\x07au."
    )
    (tmp_path / "batch").write_bytes(body)
    entry = load_plain_pickle(tmp_path / "batch")
    assert entry["labels"] == [7] and entry["data"].tobytes() == raw and entry["data"].shape == (1, 3072)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("ran",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Evil(), 2),
        pickle.dumps({"data": np.array([Evil()], object)}, 2),
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00zipt\x52.",
        b"cnumpy\nload\n.",
        b"",
        b"\x80\x02",
        pickle.dumps([1, 2])[:-1],
        b"garbage",
    ],
)
def test_hostile_or_broken_pickles_run_nothing(tmp_path, data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "batch").write_bytes(data)
    with pytest.raises(RuntimeError, match="batch cannot be read"):
        load_plain_pickle(tmp_path / "batch")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "entry",
    [
        [1],
        {"labels": [1]},
        {"data": np.zeros((1, 3072), np.uint8)},
        {"data": np.zeros((1, 3071), np.uint8), "labels": [1]},
        {"data": np.zeros((2, 3072), np.uint8), "labels": [1]},
        {"data": np.zeros((1, 3072)), "labels": [1]},
        {"data": "text", "labels": [1]},
    ],
)
def test_cifar_batches_of_the_wrong_form(tmp_path, entry):
    (tmp_path / "cifar-10-batches-py").mkdir()
    (tmp_path / "cifar-10-batches-py/test_batch").write_bytes(pickle.dumps(entry, 2))
    with pytest.raises(RuntimeError, match="is not a CIFAR batch"):
        datasets.CIFAR10(tmp_path, train=False)


def test_cifar_archives_write_only_what_is_wanted(tmp_path):
    cls = datasets.CIFAR10
    files, _ = cifar_files(cls)
    inner = {f"{cls.base_folder}/{name}": data for name, data in files.items()}
    absolute = str(tmp_path / "absolute")
    (tmp_path / cls.filename).write_bytes(tarball("", {"../outside": b"x", absolute: b"x", **inner}))
    cls(tmp_path)
    assert not (tmp_path.parent / "outside").exists() and not os.path.exists(absolute)
    (tmp_path / "a").mkdir()
    with pytest.raises(RuntimeError, match="outside of"):
        utils.extract_archive(tmp_path / cls.filename, tmp_path / "a")
    assert not list((tmp_path / "a").iterdir())


def test_cifar_missing_or_incomplete(tmp_path):
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted. You can use download.*cifar-10-py"):
        datasets.CIFAR10(tmp_path)
    files, _ = cifar_files(datasets.CIFAR10)
    archive = tarball("cifar-10-batches-py", files)
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(archive[: len(archive) // 2])
    with pytest.raises(RuntimeError, match="cannot be unpacked"):
        datasets.CIFAR10(tmp_path)


# Downloading


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves the files in ``server.files``, with ranges or without, and breaks off where told."""

    protocol_version = "HTTP/1.0"

    def do_GET(self):
        server = self.server
        data = server.files.get(self.path)
        server.log.append((self.path, self.headers.get("Range")))
        if data is None:
            self.send_error(404)
            return
        start = 0
        asked = self.headers.get("Range")
        if asked and server.ranges:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start : start + server.at_once])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.log, server.ranges, server.at_once = {}, [], True, 1 << 30
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


DATA = bytes(range(256)) * 2000
MD5 = hashlib.md5(DATA).hexdigest()


def test_checksums(tmp_path):
    (tmp_path / "a").write_bytes(DATA)
    for kind in ("md5", "sha1", "sha256"):
        good = hashlib.new(kind, DATA).hexdigest()
        assert utils.check_integrity(tmp_path / "a", good) and utils.check_integrity(tmp_path / "a", good.upper())
        assert not utils.check_integrity(tmp_path / "a", good[::-1])
    assert utils.check_integrity(tmp_path / "a") and not utils.check_integrity(tmp_path / "b")
    with pytest.raises(ValueError, match="is not an MD5"):
        utils.check_integrity(tmp_path / "a", "abc")


def test_download_checks_and_is_done_once(server, tmp_path):
    server.files["/f.bin"] = DATA
    for _ in range(2):
        utils.download_url(server.url + "/f.bin", tmp_path / "new", md5=MD5)
    assert (tmp_path / "new/f.bin").read_bytes() == DATA and len(server.log) == 1
    assert os.listdir(tmp_path / "new") == ["f.bin"]


def test_a_mirror_helps_out(server, tmp_path):
    server.files["/wrong"] = b"something else"
    server.files["/right"] = DATA
    urls = [server.url + path for path in ("/missing", "/wrong", "/right")]
    utils.fetch(["http://127.0.0.1:9/refused", *urls], tmp_path / "f", MD5)
    assert (tmp_path / "f").read_bytes() == DATA


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_is_taken_up_again(server, tmp_path, ranges):
    server.files["/f"], server.ranges = DATA, ranges
    (tmp_path / "f.part").write_bytes(DATA[:100_000])
    utils.fetch([server.url + "/f"], tmp_path / "f", MD5)
    assert (tmp_path / "f").read_bytes() == DATA and server.log == [("/f", "bytes=100000-")]


def test_a_connection_that_breaks_off_is_taken_up_again(server, tmp_path):
    server.files["/f"], server.at_once = DATA, 200_000
    utils.fetch([server.url + "/f"], tmp_path / "f", MD5)
    assert (tmp_path / "f").read_bytes() == DATA
    assert [asked for _, asked in server.log] == [None, "bytes=200000-", "bytes=400000-"]


def test_the_part_that_came_is_kept_for_the_next_call(server, tmp_path):
    server.files["/f"], server.at_once = DATA, 50_000
    with pytest.raises(RuntimeError, match="kept breaking off"):
        utils.fetch([server.url + "/f"], tmp_path / "f", MD5)
    assert not (tmp_path / "f").exists() and (tmp_path / "f.part").stat().st_size == 250_000
    server.at_once = 1 << 30
    utils.fetch([server.url + "/f"], tmp_path / "f", MD5)
    assert (tmp_path / "f").read_bytes() == DATA and server.log[-1] == ("/f", "bytes=250000-")


@pytest.mark.parametrize("part", [b"x" * 100, b"x" * len(DATA), b"x" * (len(DATA) + 5), DATA])
def test_a_part_of_another_file_is_given_up(server, tmp_path, part):
    server.files["/f"] = DATA
    (tmp_path / "f.part").write_bytes(part)
    utils.fetch([server.url + "/f"], tmp_path / "f", MD5)
    assert (tmp_path / "f").read_bytes() == DATA and not (tmp_path / "f.part").exists()


def test_without_a_checksum_nothing_old_is_used(server, tmp_path):
    server.files["/f"] = DATA
    (tmp_path / "f.part").write_bytes(b"x" * 100)
    utils.fetch([server.url + "/f"], tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == DATA


def test_offline_says_what_to_put_where(tmp_path):
    with pytest.raises(RuntimeError) as caught:
        utils.fetch(["http://127.0.0.1:9/f.gz", "nonsense"], tmp_path / "f.gz", MD5)
    text = str(caught.value)
    assert "f.gz could not be downloaded" in text and "http://127.0.0.1:9/f.gz: " in text
    assert f"put the file at {tmp_path / 'f.gz'}" in text and MD5 in text


def test_mnist_downloads(server, tmp_path):
    written = write_mnist(tmp_path / "origin")
    resources = []
    for path in sorted((tmp_path / "origin/MNIST/raw").iterdir()):
        server.files[f"/mnist/{path.name}"] = path.read_bytes()
        resources.append((path.name, hashlib.md5(path.read_bytes()).hexdigest()))
    mirrors = [server.url + "/gone/", server.url + "/mnist/"]
    cls = type("MNIST", (datasets.MNIST,), {"mirrors": mirrors, "resources": resources})
    for _ in range(2):
        data = cls(tmp_path / "root", download=True)
        assert (data.data.numpy() == written["train"][0]).all()
    assert len(server.log) == 8  # each of the four files once from each mirror, and not again
    assert cls.resources is not datasets.MNIST.resources and len(datasets.MNIST.resources) == 4


@functools.cache
def small_cifar():
    cls = datasets.CIFAR10
    files, batches = cifar_files(cls)

    def listed(entries):
        return [[name, hashlib.md5(files[name]).hexdigest()] for name, _ in entries]

    archive = tarball(cls.base_folder, files)
    sums = {
        "train_list": listed(cls.train_list),
        "test_list": listed(cls.test_list),
        "meta": cls.meta | {"md5": hashlib.md5(files[cls.meta["filename"]]).hexdigest()},
        "tgz_md5": hashlib.md5(archive).hexdigest(),
    }
    return archive, batches, sums


def test_cifar_downloads(server, tmp_path):
    archive, batches, sums = small_cifar()
    server.files["/c.tar.gz"] = archive
    cls = type("CIFAR10", (datasets.CIFAR10,), sums | {"url": server.url + "/c.tar.gz"})
    for _ in range(2):
        check_cifar(cls(tmp_path, download=True), batches, [name for name, _ in cls.train_list], "labels")
    assert len(server.log) == 1
    (tmp_path / cls.base_folder / "test_batch").write_bytes(b"damaged")
    cls(tmp_path, train=False, download=True)  # unpacked again from the archive that is there
    assert len(server.log) == 1


def test_extract_archive(tmp_path):
    (tmp_path / "f.gz").write_bytes(gzip.compress(b"hello"))
    assert utils.extract_archive(tmp_path / "f.gz") == str(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"hello"
    (tmp_path / "t.tar.gz").write_bytes(tarball("inner", {"x": b"1"}))
    utils.extract_archive(tmp_path / "t.tar.gz", tmp_path / "out", remove_finished=True)
    assert (tmp_path / "out/inner/x").read_bytes() == b"1" and not (tmp_path / "t.tar.gz").exists()


# Folders and made-up images


def test_image_folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i, name in enumerate(["dog/b.png", "dog/a.PNG", "cat/deep/c.png", "cat/readme.txt"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("txt"):
            path.write_text("x")
        else:
            image.fromarray(np.full((2, 3), i, np.uint8)).save(path)
    data = datasets.ImageFolder(tmp_path, transform=transforms.PILToTensor())
    assert data.classes == ["cat", "dog"] and data.class_to_idx == {"cat": 0, "dog": 1} and data.targets == [0, 1, 1]
    assert [os.path.relpath(path, tmp_path) for path, _ in data.imgs] == [
        os.path.join("cat", "deep", "c.png"),
        os.path.join("dog", "a.PNG"),
        os.path.join("dog", "b.png"),
    ]
    assert data[0][0].shape == (3, 2, 3) and np.unique(data[0][0].numpy()) == [2] and data[2][1] == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes empty. Supported extensions"):
        datasets.ImageFolder(tmp_path)
    assert len(datasets.ImageFolder(tmp_path, allow_empty=True)) == 3
    assert len(datasets.ImageFolder(tmp_path, is_valid_file=lambda path: "a." in path, allow_empty=True)) == 1
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        datasets.ImageFolder(tmp_path / "empty")


def test_fake_data_leaves_the_generator_alone():
    pytest.importorskip("PIL.Image")
    data = datasets.FakeData(5, (3, 4, 6), transform=transforms.PILToTensor())
    minitorch.manual_seed(0)
    first = minitorch.rand(1)
    minitorch.manual_seed(0)
    image, label = data[3]
    assert minitorch.equal(minitorch.rand(1), first)
    assert image.shape == (3, 4, 6) and 0 <= label < 10 and minitorch.equal(data[3][0], image) and data[3][1] == label
    assert len(list(data)) == len(data) == 5


def write_plain_idx(path, array):
    magic = 0x800 + array.ndim
    path.write_bytes(struct.pack(f">i{array.ndim}i", magic, *array.shape) + array.astype(np.uint8).tobytes())


def test_old_names_of_mnist(tmp_path):
    (raw := tmp_path / "MNIST" / "raw").mkdir(parents=True)
    write_plain_idx(raw / "t10k-images-idx3-ubyte", np.zeros((2, 28, 28)))
    write_plain_idx(raw / "t10k-labels-idx1-ubyte", np.arange(2))
    data = datasets.MNIST(tmp_path, train=False)
    for old, new in (("test_data", "data"), ("train_data", "data"), ("test_labels", "targets"),
                     ("train_labels", "targets")):
        with pytest.warns(UserWarning, match=f"{old} has been renamed {new}") as noted:
            assert getattr(data, old) is getattr(data, new)
        assert noted[0].filename == __file__
    assert data.processed_folder == str(tmp_path / "MNIST" / "processed")


def test_2_3_there_is_data_without_a_network():
    from minitorch import datasets
    assert len(datasets.Digits(train=True)) + len(datasets.Digits(train=False)) == 1797


def test_importing_data_starts_nothing():
    code = (
        "import sys, minitorch.utils.data, minitorch.datasets, minitorch.transforms, threading\n"
        "slow = {'multiprocessing', 'urllib.request', 'PIL', 'gzip', 'tarfile', 'tqdm'} & set(sys.modules)\n"
        "assert not slow, slow\n"
        "assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
