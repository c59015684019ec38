"""Files of data sets and archives made to do harm: forged types, bombs, lies about sizes, paths that lead outside.

Each test is named after what it protects. `fuzz_files.py` looks for more.
"""

import contextlib
import gzip
import io
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest

from minitorch import datasets
from minitorch.datasets import archives, utils
from minitorch.datasets.mnist import read_idx
from minitorch.datasets.plain_pickle import load_plain_pickle
from tests.helpers.limits import linux, within, within_memory
from tests.serialization.test_hostile import dumped


# ------------------------------------------------------------------ IDX
@linux
def test_an_idx_bomb_is_refused_by_its_header(tmp_path):
    with gzip.open(tmp_path / "x.gz", "wb", 9) as file:
        file.write(b"\0\0\x08\x01" + struct.pack(">I", 200_000_000))
        for _ in range(200):
            file.write(bytes(1_000_000))
    for wanted in (None, 3):                               # its own dimensions, or those that were asked for
        with within(0.5), within_memory(100), pytest.raises(RuntimeError, match="damaged|should hold"):
            read_idx(tmp_path / "x.gz", wanted)


@pytest.mark.parametrize("sizes", [[1] * 65, [1] * 255, [0, 2**32 - 1, 2**32 - 1], [2**32 - 1] * 3, [2**31, 2**31, 4]])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_idx_shapes_that_no_array_can_have(tmp_path, sizes, suffix):
    data = b"\0\0\x08" + bytes([len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes) + bytes(1)
    (tmp_path / f"x{suffix}").write_bytes(gzip.compress(data) if suffix else data)
    with pytest.raises(RuntimeError, match="is damaged"):
        read_idx(tmp_path / f"x{suffix}")


# ------------------------------------------------------------------ CIFAR
def cifar(tmp_path, pickled):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir(exist_ok=True)
    (folder / "test_batch").write_bytes(pickled)
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["a"]}, 2))
    return datasets.CIFAR10(tmp_path, train=False)


def forged_array(code, state, shape, raw):
    """A pickle of an array whose dtype is made of `code` and then given `state`."""
    return (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + dumped((0,), b"b") + b"\x87R(K\x01" +
            dumped(shape) + b"cnumpy\ndtype\n" + dumped(code, False, True) + b"\x87R" + dumped(state) + b"b" +
            dumped(False, raw) + b"tb.")


PLAIN = 3, "|", None, None, None, -1, -1, 0


def test_pickled_arrays_have_plain_types(tmp_path):
    """A forged dtype of objects would take the pointers from the file."""
    path = tmp_path / "x"
    path.write_bytes(forged_array("u1", PLAIN, (2, 2), b"abcd"))
    assert load_plain_pickle(path).tolist() == [[97, 98], [99, 100]]
    path.write_bytes(forged_array("i4", (3, ">", *PLAIN[2:]), (1,), b"\0\0\0\7"))
    assert load_plain_pickle(path).tolist() == [7]
    for code, state in (("O8", PLAIN), ("O8", (*PLAIN[:7], 63)), ("u8", (*PLAIN[:7], 63)), ("V8", PLAIN), ("S8", PLAIN),
                        ("u8", (3, "|", None, ("a",), {"a": 1}, -1, -1, 0)),
                        ("u8", (3, "|", None, None, None, 8, 8, 0)),
                        ("M8[s]", PLAIN), ("u8", (4, *PLAIN[1:], None)), ("u8", PLAIN[:7]), ("u1,O", PLAIN),
                        ({"names": ["a"], "formats": ["O"]}, PLAIN), ("u8", 3), ("u8", (3, "|O", *PLAIN[2:]))):
        path.write_bytes(forged_array(code, state, (1,), bytes(8)))
        with pytest.raises(RuntimeError, match="cannot be read"):
            load_plain_pickle(path)


@pytest.mark.parametrize("shape, raw", [
    ((2,), b"a"), ((0,), b"a"), ((2**40,), b"a"), ((2**63,), b""), ((-1,), b"a"), ((2**32, 2**32), b""), ([1], b"a"),
    ((1.0,), b"a"), ((1,), "\u0100"), ((1,), 3)])
def test_pickled_arrays_have_the_bytes_of_their_shape(tmp_path, shape, raw):
    (tmp_path / "x").write_bytes(forged_array("u1", PLAIN, shape, raw))
    with pytest.raises(RuntimeError, match="cannot be read"):
        load_plain_pickle(tmp_path / "x")


MAKE = b"cnumpy.core.multiarray\n_reconstruct\n"


@pytest.mark.parametrize("call", [
    b"cnumpy\nndarray\n" + dumped(((20, 3072),)) + b"R", b"cnumpy\ndtype\n" + dumped(("O",)) + b"R",
    b"cnumpy\nndarray\n)\x81", MAKE + b"cnumpy\nndarray\n" + dumped((10**11,), b"b") + b"\x87R",
    MAKE + b"cnumpy\ndtype\n" + dumped((0,), b"b") + b"\x87R"])
def test_a_pickle_makes_no_array_without_its_bytes(tmp_path, call):
    """``numpy.ndarray(shape)`` would be a part of the process's memory, or as much of it as the file likes."""
    (tmp_path / "x").write_bytes(b"\x80\x02" + call + b".")
    with pytest.raises(RuntimeError, match="cannot be read"):
        load_plain_pickle(tmp_path / "x")


def test_short_pickles_of_data_sets_ask_for_no_endless_work(tmp_path):
    chain = b"q\x00" + b"".join(b"h" + bytes([i]) + b"h" + bytes([i]) + b"\x86q" + bytes([i + 1]) for i in range(60))
    state = forged_array("u1", PLAIN, (10_000,), b"x" * 10_000)[:-2]
    for pickled in (b"\x80\x02})" + chain + b"Ns.",                          # the hash of 2**60 parts
                    b"\x80\x02Nr\xff\xff\xff\x0f2r\xff\xff\xff\x1f.",        # places of a memo of 2**28
                    state.replace(b"(K\x01", b"(K\x01", 1)[:-1] + b"tq\x63b" + b"h\x63b" * 5000 + b"."):
        (tmp_path / "x").write_bytes(pickled)
        with within(1.0), contextlib.suppress(RuntimeError):
            load_plain_pickle(tmp_path / "x")


@pytest.mark.parametrize("labels", [[[1]], [1.5], [True], ["1"], [2**70], [-1], 3, None, {}, np.ones(1),
                                    np.ones((1, 1), np.int64)])
def test_labels_of_cifar_are_whole_numbers(tmp_path, labels):
    pixels = np.zeros((1, 3072), np.uint8)
    assert cifar(tmp_path, pickle.dumps({"data": pixels, "labels": np.array([7])}, 2)).targets == [7]
    with pytest.raises(RuntimeError, match="is not a CIFAR batch|cannot be read"):
        cifar(tmp_path, pickle.dumps({"data": pixels, "labels": labels}, 2))


@pytest.mark.parametrize("meta", [3, [], {}, {"label_names": 3}, {"label_names": [1]}, {"label_names": "text"}])
def test_names_of_cifar_are_text(tmp_path, meta):
    cifar(tmp_path, pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "labels": [1]}, 2))
    (tmp_path / "cifar-10-batches-py" / "batches.meta").write_bytes(pickle.dumps(meta, 2))
    with pytest.raises(RuntimeError, match="should hold a list of names"):
        datasets.CIFAR10(tmp_path, train=False)


# ------------------------------------------------------------------ archives
def tar_of(*members, mode="w:gz", layout=tarfile.GNU_FORMAT):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=layout) as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def with_size(archive, size, at=0):
    """A tar archive whose header at `at` claims another size, with the right checksum."""
    data = bytearray(archive)
    data[at + 124:at + 136] = b"\x80" + size.to_bytes(11, "big", signed=True) if size >= 0 else b"\xff" + size.to_bytes(
        11, "big", signed=True)
    data[at + 148:at + 156] = b" " * 8
    data[at + 148:at + 156] = b"%06o\0 " % sum(data[at:at + 512])
    return bytes(data)


@pytest.mark.parametrize("size", [2**33, 2**63, 2**80, -512, -1])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME,
                                  tarfile.GNUTYPE_SPARSE])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_members_of_any_claimed_size(tmp_path, size, kind, pack):
    first, second = tarfile.TarInfo("a"), tarfile.TarInfo("b")
    first.type = kind
    path = tmp_path / "x.tar.gz"
    path.write_bytes(pack(with_size(tar_of((first, b"x" * 512), (second, b"hello"), mode="w"), size)))
    with within(1.0):
        try:
            utils.extract_archive(path, tmp_path / "out")
        except RuntimeError as error:
            assert "cannot be unpacked" in str(error)
    assert sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file()) < 10_000


def test_sparse_members_are_refused(tmp_path):
    """A few bytes that stand for eight gigabytes of zeros."""
    info = tarfile.TarInfo("a")
    info.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(2**33), "GNU.sparse.realsize": str(2**33)}
    (tmp_path / "x.tar.gz").write_bytes(tar_of((info, b"x"), layout=tarfile.PAX_FORMAT))
    with within(1.0), pytest.raises(RuntimeError, match="is a sparse file"):
        utils.extract_archive(tmp_path / "x.tar.gz", tmp_path / "out")


@linux
@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.xz", ".tar.bz2", ".zip", ".gz"])
def test_archives_that_unpack_to_a_hundred_times_their_size(tmp_path, suffix):
    path, zeros = tmp_path / f"x{suffix}", bytes(100_000_000)
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zeros", zeros)
    elif suffix == ".gz":
        path.write_bytes(gzip.compress(zeros))
    else:
        path.write_bytes(tar_of((tarfile.TarInfo("zeros"), zeros), mode=f"w:{suffix[5:]}"))
    del zeros
    with within(2.0), within_memory(250), pytest.raises(RuntimeError, match="unpacks to more than 64 MB"):
        utils.extract_archive(path, tmp_path / "out")
    assert not [file for file in (tmp_path / "out").rglob("*") if file.is_file()]      # nor a part of it


def test_zip_archives_stay_in_their_folder(tmp_path):
    for name in ("../outside", str(tmp_path / "absolute")):
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
            archive.writestr("inside", b"1")
            archive.writestr(name, b"1")
        with pytest.raises(RuntimeError, match="outside of"):
            utils.extract_archive(tmp_path / "x.zip", tmp_path / "out")
    assert not (tmp_path / "outside").exists() and not (tmp_path / "absolute").exists()
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz", ".tar.xz", ".tar.bz2"])
def test_archives_of_every_kind_unpack(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("folder/", b"")
            archive.writestr("folder/ä" + "n" * 150, b"hello")
    else:
        path.write_bytes(tar_of((tarfile.TarInfo("folder/ä" + "n" * 150), b"hello"), mode=f"w:{suffix[5:]}"))
    utils.extract_archive(path, tmp_path / "out")
    assert (tmp_path / "out" / "folder" / ("ä" + "n" * 150)).read_bytes() == b"hello"


def test_an_archive_may_unpack_to_just_the_most():
    archives._check_size(100, 100)
    with pytest.raises(ValueError, match="unpacks to more than"):
        archives._check_size(101, 100)
