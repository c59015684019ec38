"""Damaged archives, hostile pickles, and short files that ask for endless work: a clear error, and no code is run."""

import collections
import io
import os
import pickle
import struct
import subprocess
import tracemalloc
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import minitorch
from minitorch.core.tensor import Tensor
from minitorch.serialization import safe_globals
from tests.helpers.archives import archived, loaded, saved, tensor


# ------------------------------------------------------------------ damaged archives
def rezipped(data, compression=zipfile.ZIP_STORED, **changes):
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w", compression) as new:
        for info in old.infolist():
            new.writestr(info.filename, changes.get(info.filename.rpartition("/")[2], old.read(info)))
    return target.getvalue()


def test_damaged_archives():
    data = saved(tensor(np.arange(1000.0)))
    flipped = bytearray(data)
    flipped[data.index(np.float64(500).tobytes()) + 1] ^= 1
    doubled = io.BytesIO(data)
    with zipfile.ZipFile(doubled, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("archive/data/0", bytes(8000))
    cases = {
        "checksum of record data/0 is wrong": bytes(flipped),
        "central directory": data[:-30],
        "two records named 'archive/data/0'": doubled.getvalue(),
        "compressed or encrypted": rezipped(data, zipfile.ZIP_DEFLATED),
        "does not hold 1000 elements of DoubleStorage": rezipped(data, **{"0": b"1234"}),
        "Unknown endianness": rezipped(data, byteorder=b"middle"),
        "TorchScript": archived(b"\x80\x02N.", **{"constants.pkl": b""}),
        "failed locating file data.pkl": rezipped(data).replace(b"data.pkl", b"data.pkx"),
        "it is empty": b"PK\x03\x04" + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0, 0, 0, 4, 0),
        "claim to be larger than the file": overlapping()}
    for message, damaged in cases.items():
        with pytest.raises(RuntimeError, match=message):
            loaded(damaged)
    with pytest.raises(EOFError, match="empty"):
        loaded(b"")
    with pytest.raises(pickle.UnpicklingError, match="not a PyTorch file"):
        loaded(b"hello")
    with pytest.raises(RuntimeError, match="tar archive"):
        loaded(bytes(257) + b"ustar" + bytes(300))


def overlapping():
    """A zip bomb without compression: fifty names for the same bytes."""
    data = saved(tensor(np.zeros(10_000)))
    end = data.rindex(b"PK\x05\x06")
    start = struct.unpack_from("<I", data, end + 16)[0]
    entry = data.index(b"archive/data/0", start) - 46
    one = data[entry:data.index(b"PK\x01\x02", entry + 4)]
    directory = data[start:end] + b"".join(one.replace(b"data/0", b"data/%c" % (65 + i)) for i in range(50))
    count = struct.unpack_from("<H", data, end + 10)[0] + 50
    return data[:start] + directory + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(directory),
                                                  start, 0)


def test_record_names_are_only_names():
    """A storage key is looked up in the directory of the archive, never in the file system."""
    reference = (b"\x80\x02(X\x07\x00\x00\x00storagectorch\nByteStorage\nX%b%bX\x03\x00\x00\x00cpuK\x04tQ.")
    for key in (b"../../../etc/passwd", b"/etc/passwd", b"..\\x", b"", b"\x00", b"data.pkl"):
        with pytest.raises(RuntimeError, match="file not found"):
            loaded(archived(reference % (struct.pack("<I", len(key)), key)))


# ------------------------------------------------------------------ hostile pickles
class Point:
    def __init__(self, x):
        self.x = x


class Evil:
    """Pickles as whatever call it is made of."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def ran(*args, **kwargs):
    raise AssertionError("code of a file was run")


EVIL = {
    "os.system": Evil(os.system, ("exit 1",)),
    "eval": Evil(eval, ("1",)),
    "exec": Evil(exec, ("1",)),
    "getattr": Evil(getattr, (dict, "fromkeys")),
    "import": Evil(__import__, ("os",)),
    "open": Evil(open, ("/etc/passwd",)),
    "subprocess": Evil(subprocess.Popen, (["true"],)),
    "own function": Evil(ran, ()),
    "state": Evil(Point, (1,), {"x": 2}),
    "list items": Evil(list, (), None, iter([1, 2])),
    "dict items": Evil(collections.UserDict, (), None, None, iter([(1, 2)])),
    "nested": {"a": [tensor(np.ones(1)), (Evil(os.getcwd, ()),)]},
    "numpy": np.ones(2),
    "class": Point,
    "setstate": Evil(OrderedDict, (), {"update": 1}),
    "bytes of a size": Evil(bytes, (10**12,)),
    "bytearray of a size": Evil(bytearray, (10**12,)),
    "str": Evil(str, (b"x", "rot13")),
    "type": Evil(type, ("X", (), {})),
    "codec": Evil(__import__("codecs").encode, ("x", "rot13")),
    "device": Evil(minitorch.device, ("x" * 10**6,)),
    "size": Evil(minitorch.Size, (("a",),)),
}


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("name", EVIL)
def test_no_code_is_run(name, zipped, protocol):
    data = saved(EVIL[name], pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    with pytest.raises((pickle.UnpicklingError, RuntimeError)) as caught:
        loaded(data)
    assert len(str(caught.value)) < 1000


def test_danger_on_request():
    """The safety that weights_only=False gives up: the test of the test above."""
    with pytest.raises(AssertionError, match="code of a file was run"):
        loaded(saved(EVIL["own function"]), weights_only=False)


def test_blocked_modules_stay_blocked():
    with safe_globals([(os.getcwd, "posix.getcwd"), (os.getcwd, "os.getcwd")]):
        for module in (b"posix", b"os", b"nt", b"sys"):
            with pytest.raises(pickle.UnpicklingError, match="is blocked"):
                loaded(archived(b"\x80\x02c" + module + b"\ngetcwd\n)R."))


OPERATIONS = {                                             # single pickles, and what is wrong with them
    "Trying to call reduce for unrecognized function": [b"N)R.", b"K\x01)R.", b"ctorch\nfloat32\n)R.", b"]]\x85R.",
                                                       b"ctorch\nFloatStorage\n)R.", b"c__builtin__\nlist\n)R.",
                                                       b"ctorch\nTensor\n)R."],
    "the arguments of a call are a tuple": [b"ctorch\nSize\n]R."],
    "Can only create new object": [b"ctorch\nTensor\n)\x81.", b"ccollections\nOrderedDict\n)\x81.", b"N)\x81.",
                                   b"ctorch.nn.parameter\nParameter\n)\x81."],
    "Can only build": [b"]}b.", b"}}b.", b"ctorch\nSize\n)R}b.", b"ctorch\nfloat32\n}b."],
    "may not replace": [b"ccollections\nOrderedDict\n)R}X\x05\x00\x00\x00items" + b"Nsb.",
                        b"ccollections\nOrderedDict\n)R}K\x01Nsb."],
    "Can only append": [b"}Na.", b")(NNe.", b"c__builtin__\nlist\nNa."],
    "Can only set items": [b"]NNs.", b"ctorch\nSize\nNNs."],
    "Can only add items": [b"](N\x90."],
    "a key without a value": [b"}(Nu.", b"(Nd."],
    "Only persistent_load of storage": [b"NQ.", b")Q.", b"X\x07\x00\x00\x00storageQ.", b"(X\x06\x00\x00\x00moduletQ."],
    "a reference to a storage": [b"(X\x07\x00\x00\x00storageNNNNtQ."],
    "Unsupported operand": [b"I1\n.", b"S'a'\n.", b"(i__main__\nx\n.", b"Pabc\n.", b"\x82\x01.", b"\x97.", b"\xff."],
    "unsupported pickle protocol": [b"\x80\x63."],
    "ends too early": [b"", b"N", b"X\xff\xff\xff\xffabc", b"\x8d" + b"\xff" * 8, b"\x8e" + b"\xff" * 8,
                       b"\x8b\xff\xff\xff\x7f", b"(" * 1000],
    "takes a value that is not there": [b".", b"a", b"s", b"R", b"0.", b"2.", b"t.", b"1.", b"e.", b"u.", b"b"],
    "a tuple of 3 values": [b"NN\x87."],
    "an int of": [b"\x8b\xff\xff\xff\xff."],
    "it has not stored": [b"h\x05.", b"j\x05\x00\x00\x00."],
    "unhashable": [b"}]Ns.", b"\x8f(]\x90.", b"}]\x85Ns."],
    "the name of a global is text": [b"NN\x93.", b"K\x01K\x02\x93."],
    "does not end": [b"ctorch", b"c" + b"x" * 2000 + b"\nx\n."],
    "characters": [b"X\x00\x00\x10\x00" + b"x" * 2**20 + b"X\x01\x00\x00\x00x\x93."],
    "nested marks": [b"(" * 200_000],
    "dense and sparse tensors only": [b"ctorch._utils\n_rebuild_mkldnn_tensor\n.",
                                      b"ctorch._utils\n_rebuild_qtensor\n."],
    "a dtype that minitorch does not have": [b"ctorch\nbits8\n.", b"ctorch\nquint8\n."],
    "UnicodeDecodeError": [b"X\x01\x00\x00\x00\xff."],
}


@pytest.mark.parametrize("message", OPERATIONS)
def test_operations_of_the_stack_machine(message):
    for pickled in OPERATIONS[message]:
        for head in (b"\x80\x02", b""):
            with pytest.raises((pickle.UnpicklingError, RuntimeError), match=message):
                loaded(archived(head + pickled))


def test_operations_that_no_current_pickler_writes():
    """From older protocols and picklers, but harmless."""
    for pickled, value in ((b"(NNl.", [None, None]), (b"(K\x01Nd.", {1: None}), (b"NK\x010.", None),
                           (b"K\x012\x86.", (1, 1)), (b"N(K\x011.", None), (b"U\x03abc.", "abc"),
                           (b"T\x03\x00\x00\x00abc.", "abc"),
                           (b"ccollections\nOrderedDict\n]]K\x01aK\x02aa\x85R.", OrderedDict([(1, 2)])),
                           (b"K\x01(0.", 1)):
        assert loaded(archived(b"\x80\x02" + pickled)) == value


def rebuilt(offset, size, stride, count=8, extra=b""):
    """A file with one tensor of this geometry in a storage of eight floats."""
    return archived(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
                    b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + dumped(count) + b"tQ" + dumped(offset, size, stride) +
                    b"\x89ccollections\nOrderedDict\n)R" + extra + b"tR.", {"data/0": bytes(32)})


def dumped(*values):
    """The operations that make these values."""
    return b"".join(pickle.dumps(value, 2)[2:-1] for value in values)


def test_geometries_from_files():
    assert loaded(rebuilt(0, (2, 4), (4, 1))).shape == (2, 4)
    assert loaded(rebuilt(7, (), ())).shape == ()
    assert loaded(rebuilt(0, (2**20, 2**20), (0, 0))).shape == (2**20, 2**20)     # an expanded tensor, no memory
    assert loaded(rebuilt(0, (1, 8), (2**50, 1))).stride() == (2**50, 1)
    assert loaded(rebuilt(2**40, (0, 5), (1, 1))).numel() == 0
    for message, where in {
            "out of bounds": [(0, (9,), (1,)), (8, (), ()), (1, (8,), (1,)), (0, (2,), (8,)), (2**62 // 8, (1,), (1,))],
            "negative": [(-1, (1,), (1,)), (0, (-1,), (1,)), (3, (3,), (-1,)), (0, (-1, -1), (1, 1))],
            "cannot be addressed": [(0, (2**62,), (0,)), (0, (2**31, 2**31, 2**31), (0, 0, 0)), (2**63, (1,), (1,)),
                                    (0, (1,), (2**63,)), (0, (0, 2**62), (1, 1))],
            "mismatch": [(0, (1, 2), (1,))],
            "at most 64 dimensions": [(0, (1,) * 65, (1,) * 65)],
            "whole numbers": [(0.0, (1,), (1,)), (0, (1.0,), (1,)), (None, (1,), (1,)), (0, (True,), (1,))],
            "are tuples": [(0, 3, (1,)), (0, (1,), None)]}.items():
        for case in where:
            with pytest.raises(RuntimeError, match=message):
                loaded(rebuilt(*case))
    for count in (-1, 2**62, 9):
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match="does not hold|a reference to a storage"):
            loaded(rebuilt(0, (1,), (1,), count=count))
    with pytest.raises(RuntimeError, match="metadata"):
        loaded(rebuilt(0, (1,), (1,), extra=b"}K\x01Ns"))


def chain(step, n=60):
    """A pickle whose value n is made of two of value n - 1, which the memo holds under that number."""
    return b"q\x00" + b"".join(step % {b"old": b"h" + bytes([i])} + b"q" + bytes([i + 1]) for i in range(n))


def collisions():
    return b"".join(b"\x8a\x10" + ((2**61 - 1) * i).to_bytes(16, "little") + b"N" for i in range(1, 1000))


def complex_collisions():
    return b"".join(b"c__builtin__\ncomplex\nG" + struct.pack(">d", -1000003.0 * i) + b"G" + struct.pack(">d", i) +
                    b"\x86RN" for i in range(1, 1000))


def text(n):
    return b"X" + struct.pack("<I", n) + b"x" * n


BOMBS = {                                                  # short pickles that ask for endless work or memory
    "bytes from one string": lambda: b"c_codecs\nencode\nq\x00" + text(10**5) + dumped("latin1") + b"\x86q\x01(" +
    b"h\x00h\x01R" * 10**4 + b"l.",
    "sets from one list": lambda: b"c__builtin__\nset\nq\x00](" + b"K\x00" * 10**4 + b"e\x85q\x01(" +
    b"h\x00h\x01R" * 10**4 + b"l.",
    "hash of a tuple of 2**60 parts": lambda: b"})" + chain(b"%(old)b2\x86") + b"Ns.",
    "repr of the same": lambda: b")" + chain(b"%(old)b2\x86") + b")R.",
    "size of the same": lambda: b"ctorch\nSize\n)" + chain(b"%(old)b2\x86") + b"\x85R.",
    "hash of a frozenset of as many": lambda: b"}(\x91" + chain(b"(%(old)bK\x01\x86%(old)bK\x02\x86\x91") +
    b"K\x01\x86Ns.",
    "ints of one hash": lambda: b"}(" + collisions() + b"u.",
    "complex numbers of one hash": lambda: b"}(" + complex_collisions() + b"u.",
    "a long int as key again and again": lambda: b"}\x8b" + struct.pack("<I", 10**5) + bytes(10**5 - 1) +
    b"\x01q\x00N(" + b"h\x00N" * 10**5 + b"u.",
    "a long string as key again and again": lambda: b"}(" + text(10**5) + b"N" + text(10**5) + b"q\x00N" +
    b"h\x00N" * 10**5 + b"u.",
    "the state of one dict again and again": lambda: b"ccollections\nOrderedDict\n)R}(" + b"".join(
        dumped(str(i), None) for i in range(1000)) + b"uq\x00" + b"bh\x00" * 10**4 + b"b.",
    "a nest of defaultdicts": lambda: b"ccollections\ndefaultdict\nq\x00)R" + b"K\x00h\x00)R" * 5000 +
    b"s" * 5000 + b".",
    "a huge memo": lambda: b"Nr\xff\xff\xff\xffj\xfe\xff\xff\xff.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name):
    data = archived(b"\x80\x02" + BOMBS[name]())
    with pytest.raises((pickle.UnpicklingError, RuntimeError)) as caught:
        loaded(data)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["bytes from one string", "sets from one list", "size of the same", "a huge memo"])
def test_bombs_take_little_memory(name):
    data = archived(b"\x80\x02" + BOMBS[name]())
    tracemalloc.start()
    try:
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            loaded(data)
        assert tracemalloc.get_traced_memory()[1] < 60 * len(data) + 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pickled", [b"]" * 100_000 + b"a" * 99_999 + b".", b")" + b"\x85" * 100_000 + b".",
                                     b"N" + b"](" * 50_000 + b"N" + b"e" * 50_000 + b"."])
def test_deep_nests_are_just_objects(pickled):
    found, depth = loaded(archived(b"\x80\x02" + pickled)), 0
    while found:
        found, depth = found[0], depth + 1
    assert depth > 49_000


def test_attributes_from_files_replace_nothing():
    for key in ("array", "backend", "grad", "data", "sum", "__class__", "requires_grad", 3):
        x = tensor(np.ones(1))
        state = Evil(minitorch.serialization.tensors.rebuild_from_type_v2,
                     (*x.__reduce_ex__(2)[:1], Tensor, x.__reduce_ex__(2)[1], {key: 1}))
        with pytest.raises(RuntimeError, match="may not replace"):
            loaded(saved(state))
