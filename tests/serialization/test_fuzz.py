"""Damaged and forged files: whatever the bytes, `load` returns an object or raises one of its errors, and runs nothing.

All mutations are made from seeds, so that a failure can be repeated: its message names the seed. While a file is
read, Python's audit hook watches that nothing is imported, opened, compiled or executed.
"""

import faulthandler
import io
import pickle
import pickletools
import random
import sys
import warnings
from collections import OrderedDict

import numpy as np
import pytest

import minitorch
from minitorch.core.arrays import pointer
from minitorch.core.tensor import Tensor
from minitorch.serialization import load
from minitorch.serialization.legacy import MAGIC, VERSION
from tests.helpers.archives import archived, saved, tensor

"".encode("cp437")                                         # the codec of old zip names, imported when first needed
EXPECTED = (RuntimeError, pickle.UnpicklingError, EOFError)
watching, events = False, []


def watch(event, args):
    if watching and event not in ("builtins.id", "object.__getattr__", "object.__setattr__"):
        events.append((event, str(args)[:100]))


sys.addaudithook(watch)


def attempt(data, seed, **options):
    """Load `data`; fails the test unless the outcome is a sound object or one of the expected errors."""
    global watching
    events.clear()
    try:
        watching = True
        found = load(io.BytesIO(data), **options)
    except EXPECTED:
        found = None
    except Exception as error:
        watching = False
        pytest.fail(f"{seed}: {type(error).__name__}: {error}")
    finally:
        watching = False
    assert not events, (seed, events)
    sound(found, seed)
    return found


def sound(value, seed):
    """Check that all tensors in `value` lie inside their memory; goes no deeper than a thousand steps."""
    todo, steps = [value], 0
    while todo and steps < 1000:
        value, steps = todo.pop(), steps + 1
        if isinstance(value, Tensor):
            array, memory = value.array, value.untyped_storage()
            start = pointer(array) - memory.data_ptr()
            end = start + sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize
            assert array.size == 0 or 0 <= start and end <= memory.nbytes(), seed
            assert array.size == 0 or repr(array[(-1,) * array.ndim]), seed
        elif isinstance(value, dict):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += list(value)[:100]


def objects():
    base = np.arange(12, dtype=np.float32)
    state = OrderedDict(w=tensor(base.reshape(3, 4)), b=tensor(base[2:8:2]), n=tensor(np.int64(7)))
    state._metadata = OrderedDict([("", {"version": 1})])
    parameter = minitorch.nn.Parameter(tensor(base[:6].reshape(2, 3).T))
    parameter.note = "x"
    return [state, [parameter, {"set": {1, 2}, "size": minitorch.Size([2, 3]), ("k", 2): minitorch.float32}],
            {"lr": 0.1, "steps": [1, 2**70, -5, 3j], "bytes": b"abc", "d": minitorch.device("cpu"), "none": None},
            tensor(np.arange(3, dtype=np.uint16))]


def pickle_of(data):
    """The pickle in an archive and its storages."""
    import zipfile
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.startswith("archive/data/")]
        return archive.read("archive/data.pkl"), {name[8:]: archive.read(name) for name in names}


@pytest.fixture(scope="module")
def files():
    """Small sound files of every kind."""
    found = [saved(value) for value in objects()]
    found += [saved(value, pickle_protocol=4) for value in objects()]
    found += [saved(value, _use_new_zipfile_serialization=False) for value in objects()]
    for data in found:
        load(io.BytesIO(data))                             # what is imported when first needed is so by now
        assert attempt(data, "sound") is not None
    return found


@pytest.fixture(autouse=True)
def ends():
    """A hang ends the run with a traceback instead of stopping it for ever."""
    faulthandler.dump_traceback_later(120, exit=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    faulthandler.cancel_dump_traceback_later()


# ------------------------------------------------------------------ bytes
def damaged(rng, data, others):
    """`data` after one to four changes that know nothing of the format."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(7)
        if kind == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at:at + rng.randrange(1, 40)]
        elif kind == 4:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 5:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            data[at:at + rng.randrange(60)] = other[start:start + rng.randrange(60)]
        elif kind == 6:
            width = rng.choice((2, 4, 8))
            data[at:at + width] = rng.choice((0, 1, 2**31 - 1, 2**(8 * width) - 1, 2**(8 * width - 1),
                                              len(data))).__mod__(2**(8 * width)).to_bytes(width, "little")
    return bytes(data)


@pytest.mark.parametrize("batch", range(5))
def test_damaged_files(files, batch):
    for seed in range(batch * 1000, (batch + 1) * 1000):
        rng = random.Random(seed)
        attempt(damaged(rng, rng.choice(files), files), f"bytes, seed {seed}")


@pytest.mark.parametrize("batch", range(2))
def test_damaged_directories(files, batch):
    """Changes to the last bytes of an archive, where zip keeps its directory, and to the local headers."""
    for seed in range(batch * 1000, (batch + 1) * 1000):
        rng = random.Random(seed)
        data = bytearray(rng.choice(files[:8]))
        heads = [i for i in range(len(data) - 4) if data[i:i + 2] == b"PK"]
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.choice(heads) + rng.randrange(4, 46)
            width = rng.choice((1, 2, 4))
            value = rng.choice((0, 1, 8, 255, len(data), 2**31, 2**(8 * width) - 1, rng.randrange(2**16)))
            data[at:at + width] = (value % 2**(8 * width)).to_bytes(width, "little")
        attempt(bytes(data), f"directory, seed {seed}")


# ------------------------------------------------------------------ pickles
def operations(pickled):
    """The pickle cut into its operations."""
    starts = [position for _, _, position in pickletools.genops(pickled)] + [len(pickled)]
    return [pickled[a:b] for a, b in zip(starts, starts[1:])]


ODD_INTS = (-1, 0, 1, 2, 3, 5, 12, 64, 2**31 - 1, -2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64, -2**63, 2**200)
ODD = [pickle.dumps(value, 2)[2:-1] for value in (*ODD_INTS, None, True, False, 1.5, float("nan"), "", "0", "1", "cpu",
                                                 "storage", (), [], {}, (2, 3), (-1,), (2**40, 2**40), [1, 2], b"x")]
ODD += [b"c" + name + b"\n" for name in (
    b"torch\nFloatStorage", b"torch\nDoubleStorage", b"torch\nBFloat16Storage", b"torch.storage\nUntypedStorage",
    b"torch._utils\n_rebuild_tensor", b"torch._utils\n_rebuild_tensor_v2", b"torch._utils\n_rebuild_tensor_v3",
    b"torch._utils\n_rebuild_parameter", b"torch._utils\n_rebuild_parameter_with_state",
    b"torch._tensor\n_rebuild_from_type_v2", b"torch\nTensor", b"torch.nn.parameter\nParameter", b"torch\nfloat32",
    b"torch\ncomplex64", b"torch\nSize", b"torch\ndevice", b"collections\nOrderedDict", b"collections\nCounter",
    b"collections\ndefaultdict", b"_codecs\nencode", b"__builtin__\nset", b"__builtin__\nfrozenset",
    b"__builtin__\nbytearray", b"__builtin__\ncomplex", b"__builtin__\nint", b"__builtin__\neval", b"os\nsystem",
    b"__builtin__\ngetattr", b"torch.serialization\n_get_layout", b"torch.nn.parameter\nUninitializedParameter")]
SINGLE = [code.code.encode("latin1") for code in pickletools.opcodes if code.arg is None]


def forged(rng, parts, others, odd=ODD):
    """The operations of a pickle after one to four changes that leave each operation whole."""
    parts = list(parts)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(1, len(parts))
        kind = rng.randrange(8)
        if kind == 0:
            del parts[at]
        elif kind == 1:
            parts.insert(at, rng.choice(parts))
        elif kind == 2:
            other = rng.randrange(1, len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        elif kind == 3:
            parts[at] = rng.choice(odd)
        elif kind == 4:
            parts.insert(at, rng.choice(odd))
        elif kind == 5:
            parts[at] = rng.choice(SINGLE)
        elif kind == 6:
            parts.insert(at, rng.choice((b"h", b"q")) + bytes([rng.randrange(12)]))
        elif kind == 7:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            parts[at:at] = other[start:start + rng.randrange(1, 8)]
        if len(parts) < 2:
            break
    return b"".join(parts)


@pytest.mark.parametrize("batch", range(5))
def test_forged_pickles(files, batch):
    pickles = [pickle_of(data) for data in files[:8]]
    cut = [operations(pickled) for pickled, _ in pickles]
    for seed in range(batch * 1000, (batch + 1) * 1000):
        rng = random.Random(seed)
        which = rng.randrange(len(pickles))
        attempt(archived(forged(rng, cut[which], cut), pickles[which][1]), f"pickle, seed {seed}")


def test_forged_geometries(files):
    """Offsets, sizes and strides of a tensor replaced by odd numbers: inside its memory, or an error."""
    sound_ones = 0
    for seed in range(2000):
        rng = random.Random(seed)
        numbers = [rng.choice(ODD_INTS) if rng.random() < 0.4 else rng.randrange(4) for _ in range(6)]
        dims = rng.randrange(3)
        storage = rng.choice(("FloatStorage", "DoubleStorage", "BoolStorage", "ComplexDoubleStorage"))
        data = archived(tensor_pickle(storage, numbers[0], tuple(numbers[1:1 + dims]), tuple(numbers[3:3 + dims]),
                                      count=rng.choice((8, 8, 8, 0, 9, 2**61, -1))), {"data/0": bytes(64)})
        sound_ones += attempt(data, f"geometry, seed {seed}") is not None
    assert sound_ones > 100                                # or this tests nothing


def tensor_pickle(storage, offset, size, stride, count=8):
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + storage.encode() +
            b"\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + dumped(count) + b"tQ" + dumped(offset) + dumped(size) +
            dumped(stride) + b"\x89ccollections\nOrderedDict\n)RtR.")


def dumped(value):
    return pickle.dumps(value, 2)[2:-1]


def test_random_bytes():
    for seed in range(1000):
        rng = random.Random(seed)
        body = rng.randbytes(rng.randrange(200))
        head = rng.choice((b"", b"\x80\x02", b"PK\x03\x04", pickle.dumps(MAGIC, 2) + pickle.dumps(VERSION, 2)))
        attempt(head + body, f"random, seed {seed}")
        attempt(archived(b"\x80\x02" + body, {}), f"random pickle, seed {seed}")


def test_truncations(files):
    for data in (files[0], files[4], files[8]):
        for end in range(0, len(data), 3):
            assert attempt(data[:end], f"cut at {end}") is None or end > len(data) - 22


