"""Files of tensors made to do harm: addresses for NumPy, endless sizes, keys that collide, packed gigabytes.

Each test is named after what it protects. `fuzz_files.py` looks for more, `test_hostile_data.py` has files of data.
"""

import contextlib
import io
import json
import os
import pickle
import stat
import struct
import subprocess
import sys
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import nn
from minitorch.core.tensor import Tensor
from minitorch.serialization import (
    load,
    load_file,
    load_npz,
    safe_globals,
    save,
    save_file,
    tensors,
)
from minitorch.serialization.collisions import Table
from tests.helpers.limits import linux, within, within_memory
from tests.serialization.test_hostile import Evil, Point, archived, dumped, loaded, rebuilt, saved

# ------------------------------------------------------------------ attributes
ADDRESSES = {"__array_interface__": {"data": (4096, False), "shape": (6,), "typestr": "|u1", "version": 3},
             "__array_struct__": 3, "__cuda_array_interface__": {}, "__dlpack__": 1, "__array_priority__": 1e9,
             "__len__": 3, "__class__": 3, "__": 1}


@pytest.mark.parametrize("key", ADDRESSES)
@pytest.mark.parametrize("kind", [Tensor, nn.Parameter])
def test_a_file_names_no_address_in_a_tensor(key, kind):
    """NumPy prefers a tensor's __array_interface__ to the tensor: a file could read and write any memory."""
    x = minitorch.ones(3)
    state = {key: ADDRESSES[key]}
    function, args = x.__reduce_ex__(2)
    if kind is nn.Parameter:
        evil = Evil(tensors.rebuild_parameter_with_state, (x, True, OrderedDict(), state))
    else:
        evil = Evil(tensors.rebuild_from_type_v2, (function, Tensor, args, state))
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        with pytest.raises(RuntimeError, match="may not replace"):
            loaded(saved(evil, **options))


@pytest.mark.parametrize("key", ADDRESSES)
def test_a_file_names_no_address_in_an_ordered_dict(key):
    with pytest.raises(pickle.UnpicklingError, match="may not replace"):
        loaded(archived(b"\x80\x02ccollections\nOrderedDict\n)R}" + dumped(key, ADDRESSES[key]) + b"sb."))


@pytest.mark.parametrize("key", ["__array_interface__", "__array_struct__", "__cuda_array_interface__", "__dlpack__",
                                 "__class__"])
@pytest.mark.parametrize("slots", [False, True])
def test_a_file_names_no_address_in_an_object_of_an_allowed_class(key, slots):
    state = (None, {key: 3}) if slots else {key: 3}
    with safe_globals([Point]), pytest.raises(pickle.UnpicklingError, match="may not set"):
        loaded(saved(Evil(Point, (1,), state)))
    with safe_globals([Point]):
        assert loaded(saved(Evil(Point, (1,), {"__doc__": "text", "y": 2}))).y == 2


def test_attributes_of_ones_own_still_load():
    x = minitorch.ones(2)
    x.name, x._private, state = "w", [1], OrderedDict(a=1)
    state._metadata = {"": {"version": 1}}
    x, state = loaded(saved([x, state]))
    assert x.name == "w" and x._private == [1] and state._metadata == {"": {"version": 1}}


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_a_tensor_with_values_does_not_become_an_uninitialized_one(kind):
    x = minitorch.ones(3)
    function, args = x.__reduce_ex__(2)
    with pytest.raises(RuntimeError, match="cannot be a Uninitialized"):
        loaded(saved(Evil(tensors.rebuild_from_type_v2, (function, kind, args, {}))))
    assert nn.parameter.is_lazy(loaded(saved(kind())))


# ------------------------------------------------------------------ sizes
@pytest.mark.parametrize("where", ["size", "stride", "offset"])
def test_sizes_are_compared_before_they_are_multiplied(where):
    """64 times an int of 100,000 bytes: the product took more than 40 seconds."""
    int_ = b"\x8b" + struct.pack("<I", 100_000) + b"\x7f" * 100_000 + b"q\x07"
    many = b"(" + int_ + b"h\x07" * 63 + b"t"
    ones = dumped((1,) * 64)
    offset = int_ if where == "offset" else dumped(0)
    size, stride = (many if where == name else ones for name in ("size", "stride"))
    data = archived(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01"
                    b"\x00\x00\x000X\x03\x00\x00\x00cpu" + dumped(8) + b"tQ" + offset + size + stride +
                    b"\x89ccollections\nOrderedDict\n)RtR.", {"data/0": bytes(32)})
    with within(0.5), pytest.raises(RuntimeError, match="cannot be addressed") as caught:
        loaded(data)
    assert len(str(caught.value)) < 1000


def test_a_size_holds_64_bits():
    assert loaded(archived(b"\x80\x02ctorch\nSize\n" + dumped(((2**63 - 1, 3),)) + b"R.")) == (2**63 - 1, 3)
    for wrong in (2**63, -2**63 - 1, 10**400):
        with pytest.raises(pickle.UnpicklingError, match="64 bits"):
            loaded(archived(b"\x80\x02ctorch\nSize\n" + dumped(((wrong,),)) + b"R."))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-2, 2**70), max_size=4), st.lists(st.integers(-2, 2**70), max_size=4),
       st.integers(-2, 2**70))
def test_any_geometry_lies_inside_its_memory_or_is_refused(size, stride, offset):
    try:
        x = loaded(rebuilt(offset, tuple(size), tuple(stride)))
    except RuntimeError:
        return
    assert x.numel() == 0 or offset + sum((n - 1) * s for n, s in zip(size, stride)) < 8


def test_what_a_file_made_is_not_compared_by_elements():
    """A tensor in the place of a word: a comparison would look at 2**40 elements of 32 bytes."""
    storage = (b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" +
               dumped(8) + b"tQ")
    make = (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + dumped(0, (2**20, 2**20), (0, 0), False) +
            b"ccollections\nOrderedDict\n)RtR")
    assert loaded(archived(b"\x80\x02" + make + b".", {"data/0": bytes(32)})).numel() == 2**40
    for pickled in (b"(" + make + b"NNNNtQ", b"c_codecs\nencode\n(X\x00\x00\x00\x00" + make + b"tR",
                    b"ctorch.serialization\n_get_layout\n(" + make + b"tR",
                    b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + dumped(0, (8,), (1,), False) + make + b"tR",
                    b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + dumped(0, (8,), (1,)) + make + b"NtR",
                    b"ctorch._tensor\n_rebuild_from_type_v2\n(" + make + b"ctorch\nTensor\n)}tR"):
        with within(0.5), pytest.raises((RuntimeError, pickle.UnpicklingError)):
            loaded(archived(b"\x80\x02" + pickled + b".", {"data/0": bytes(32)}))


# ------------------------------------------------------------------ keys
def colliding(log2, share=2 / 3):
    """Ints that one after the other follow the same path through a dict's table of 2**log2 places."""
    size = 1 << log2
    path = [0]
    for _ in range(size - 1):
        path.append((5 * path[-1] + 1) & (size - 1))       # the path of every key in the end
    keys, rng = list(path[:size // 4]), np.random.default_rng(0)
    on_path = np.zeros(size, bool)
    on_path[keys] = True
    while len(keys) < int(size * share):
        key = rng.integers(0, 2**35, 500_000)
        place, perturb, good = key & (size - 1), key.copy(), on_path[key & (size - 1)]
        for _ in range(7):
            perturb >>= 5
            place = (5 * place + perturb + 1) & (size - 1)
            good &= on_path[place]
        keys += key[good].tolist()
    return keys[:int(size * share)]


@pytest.fixture(scope="module")
def chain_of_keys():
    return colliding(11)


@pytest.mark.parametrize("steps", [1, 1000])
def test_keys_that_collide_are_refused(chain_of_keys, steps):
    """A megabyte of ints in one dict took half a minute. Here so few that nobody would notice, but for the count."""
    parts = [b"".join(dumped(key) + b"N" for key in chain_of_keys[i:i + steps])
             for i in range(0, len(chain_of_keys), steps)]
    items = b"".join(b"(" + part + b"u" for part in parts)
    floats = b"(" + b"".join(dumped(float(key)) + b"N" for key in chain_of_keys) + b"u"
    ordered = b"](" + b"".join(dumped(key) + b"N\x86" for key in chain_of_keys) + b"e\x85R"
    for pickled in (b"}" + items, b"}" + floats, b"ccollections\nCounter\n)R" + items,
                    b"ccollections\nOrderedDict\n" + ordered):
        with pytest.raises(pickle.UnpicklingError, match="hashes collide"):
            loaded(archived(b"\x80\x02" + pickled + b"."))


def test_ordinary_keys_are_not_refused():
    n = 3000
    for keys in (range(n), range(0, n << 20, 1 << 20), range(-n, n), [i * i for i in range(n)],
                 [(i, j) for i in range(50) for j in range(60)], [i / 7 for i in range(n)], [i << 50 for i in range(n)],
                 [f"w{i}" for i in range(n)] + list(range(n)), np.random.default_rng(0).integers(0, 2**62, n).tolist()):
        assert loaded(saved(dict.fromkeys(keys, 1))) == dict.fromkeys(keys, 1)
        assert loaded(saved(set(keys))) == set(keys) and loaded(saved(frozenset(keys))) == frozenset(keys)


@pytest.mark.parametrize("kind", [dict.fromkeys, set])
def test_tables_have_the_size_of_cpythons(kind):
    if sys.implementation.name != "cpython":
        pytest.skip("another hash table")
    sizes = set()
    for n in (6, 100, 1000, 5461, 5462, 50_000):
        keys = np.random.default_rng(n).integers(0, 2**60, n)
        table = Table(kind is set)
        assert table.add(keys) and table.used == n
        grown = type(kind(()))()                           # one key at a time, as a file does it
        for key in keys.tolist():
            grown.add(key) if kind is set else grown.update({key: None})
        sizes.add((table.size, sys.getsizeof(grown)))
    assert len({size for size, _ in sizes}) == len({nbytes for _, nbytes in sizes}) == len(sizes)


@pytest.mark.parametrize("is_set", [False, True])
def test_keys_that_come_again_take_steps_but_few_looks(is_set, monkeypatch):
    """Ten thousand equal keys were entered four at a time, for they find no more free places: a minute for 70 kB."""
    keys, looks, missed = np.random.default_rng(0).integers(0, 50, 10_000), [], Table.missed
    monkeypatch.setattr(Table, "missed", lambda self, *args: looks.append(1) or missed(self, *args))
    table = Table(is_set)
    for _ in range(3):
        assert table.add(keys)
    assert table.used == 50 and set(table.slots[table.taken].tolist()) == set(range(50))
    assert table.total == 30_000 <= table.steps and len(looks) < 200
    chain, table = np.array([64 << i for i in range(40)]), Table(is_set)
    assert table.add(chain) and table.steps > 80           # they start at one place; their equals go all the way, too
    before = table.steps
    assert table.add(np.repeat(chain, 10)) and table.steps > before + 800


# ------------------------------------------------------------------ devices
def test_a_gpu_checkpoint_without_cupy_says_map_location(tmp_path):
    """In a process in which CuPy cannot be imported, whether it is installed or not."""
    data = saved(minitorch.ones(2)).replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(minitorch.ones(2)))) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info).replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"))
    (tmp_path / "x.pt").write_bytes(buffer.getvalue())
    assert data != buffer.getvalue()
    code = """
        import sys
        sys.modules["cupy"] = None
        import minitorch
        for place in (None, "cuda", {"cuda:0": "cuda:1"}):
            try:
                minitorch.load("x.pt", map_location=place)
            except RuntimeError as error:
                assert "map_location=minitorch.device('cpu')" in str(error), error
            else:
                raise AssertionError("loaded")
        assert minitorch.load("x.pt", map_location="cpu").tolist() == [1, 1]
    """
    root = os.path.dirname(os.path.dirname(minitorch.__file__))
    done = subprocess.run([sys.executable, "-c", "\n".join(line[8:] for line in code.splitlines())], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------ safetensors
ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def safetensors_file(path, header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def test_bfloat16_safetensors_load_at_once(tmp_path):
    """In a process that has not imported ml_dtypes."""
    pytest.importorskip("ml_dtypes", reason="bfloat16")
    path = safetensors_file(tmp_path / "x.safetensors", {"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}},
                            b"\x80\x3f\x00\x40")
    code = f"import minitorch; x = minitorch.load({str(path)!r})['w']; print(x.dtype, x.tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "torch.bfloat16 [1.0, 2.0]\n", done.stderr


def test_safetensors_of_every_dtype_come_back(tmp_path):
    pytest.importorskip("safetensors", reason="safetensors is an optional package")
    pytest.importorskip("ml_dtypes", reason="bfloat16")
    value = {dtype.name: minitorch.ones(2, 3, dtype=dtype) for dtype in minitorch.core.dtypes.ALL
             if dtype.name not in ("complex128", "complex64")}
    value |= {"empty": minitorch.zeros(0, 3), "scalar": minitorch.tensor(3), "ä": minitorch.arange(5)}
    save_file(value, tmp_path / "x.safetensors", metadata={"a": "b"})
    found = load_file(tmp_path / "x.safetensors")
    assert found.keys() == value.keys()
    for name, x in value.items():
        assert found[name].dtype == x.dtype and found[name].shape == x.shape and found[name].tolist() == x.tolist()


def test_dtypes_that_minitorch_does_not_have_are_named(tmp_path):
    for name in ("F8_E4M3", "F8_E5M2", "F4"):
        path = safetensors_file(tmp_path / "x.safetensors", {"w": {**ENTRY, "dtype": name}}, bytes(8))
        with pytest.raises(RuntimeError, match=f"'w' of this file is of {name}, a dtype that minitorch does not have"):
            load_file(path)


@pytest.mark.parametrize("header", [
    {"w": {**ENTRY, "shape": [2**62, 2**62]}}, {"w": {**ENTRY, "shape": [10**30]}}, {"w": {**ENTRY, "shape": [-2]}},
    {"w": {**ENTRY, "shape": [2.0]}}, {"w": {**ENTRY, "shape": [True] * 65}}, {"w": {**ENTRY, "data_offsets": [0, 9]}},
    {"w": {**ENTRY, "data_offsets": [8, 0]}}, {"w": {**ENTRY, "data_offsets": [4, 12]}}, {"w": ENTRY, "v": ENTRY},
    {"w": {**ENTRY, "more": 1}}, {"w": 3}, [], {"w": {**ENTRY, "dtype": ["F32"]}}, b"[" * 100_000, b"\xff", b"",
    b'{"w":1,"w":2}', b'{"w":' + b"9" * 100_000 + b"}", {}, {"w": {**ENTRY, "shape": [1]}}])
def test_forged_headers_of_safetensors(tmp_path, header):
    path = safetensors_file(tmp_path / "x.safetensors", header, bytes(8))
    with within(1.0), pytest.raises(RuntimeError, match="is not a whole safetensors file") as caught:
        load_file(path)
    assert len(str(caught.value)) < 1000


def test_a_header_longer_than_the_file(tmp_path):
    for content in (b"", b"1234567", struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 3) + b"{}"):
        (tmp_path / "x.safetensors").write_bytes(content)
        with pytest.raises(RuntimeError, match="not a whole"):
            load_file(tmp_path / "x.safetensors")


# ------------------------------------------------------------------ npz
def npz_of(npy, method=zipfile.ZIP_DEFLATED, name="a.npy"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(name, npy)
    return io.BytesIO(buffer.getvalue())


def npy(header, body=b""):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1") + body


@linux
def test_a_packed_array_of_a_gigabyte_is_refused_before_it_is_unpacked():
    file = npz_of(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (200000000,), }", bytes(200_000_000)))
    assert len(file.getvalue()) < 300_000
    with within(1.0), within_memory(100), pytest.raises(RuntimeError, match="unpack to more than 64 MB.*numpy.load"):
        load_npz(file)
    x = np.zeros(10_000_000, np.uint8)                     # well packed, but small
    file = io.BytesIO()
    np.savez_compressed(file, x=x)
    file.seek(0)
    assert load_npz(file)["x"].shape == (10_000_000,)


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([1], "M8[s]"), np.ones(2, [("a", "f4")]),
                                   np.array([None]), np.longdouble([3]), np.array(b"bytes")])
def test_arrays_that_no_tensor_can_hold(array):
    file = io.BytesIO()
    np.savez(file, a=array)
    file.seek(0)
    with pytest.raises(RuntimeError, match="not a whole .npz file of tensors: 'a'"):
        load_npz(file)


@pytest.mark.parametrize("header", [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1," * 65 + "), }", "(" * 9000, "-" * 9000 + "1", "'''", "",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "{'descr': '<f8', 'fortran_order': False}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }", "{'descr': '|O', 'shape': (1,)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"])
def test_forged_headers_of_arrays(header):
    with within(1.0), pytest.raises(RuntimeError, match="not a whole .npz file"):
        load_npz(npz_of(npy(header, bytes(8))))


def test_what_is_packed_in_other_ways_or_is_no_array():
    whole = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", bytes(8))
    assert load_npz(npz_of(whole))["a"].tolist() == [0.0]
    assert load_npz(npz_of(whole.replace(b"(1,)", b"(1L,)").replace(b", }", b",}")))["a"].tolist() == [0.0]  # Python 2
    for file in (npz_of(whole, zipfile.ZIP_LZMA), npz_of(whole, name="a.txt"), npz_of(whole + b"x"),
                 npz_of(whole[:-1]), npz_of(b""), io.BytesIO(b"PK"), io.BytesIO(whole)):
        with pytest.raises(RuntimeError, match="not a whole .npz file"):
            load_npz(file)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["?", "u1", "<i2", ">i4", "<u8", "<f2", ">f4", "<f8", ">c16", "<c8"]),
       st.lists(st.integers(0, 4), max_size=4), st.booleans(), st.booleans())
def test_npz_reads_what_numpy_writes(dtype, shape, fortran, packed):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    array = np.asfortranarray(array) if fortran else array
    file = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(file, **{"x/y": array})
    file.seek(0)
    found = load_npz(file)["x/y"].array
    assert found.shape == array.shape and found.dtype == array.dtype.newbyteorder("=") and (found == array).all()


# ------------------------------------------------------------------ saving
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"),
                    reason="root may write anywhere")
def test_a_file_in_a_folder_of_somebody_else_is_written_over(tmp_path):
    """As PyTorch does it; what goes wrong before all is there leaves the old contents."""
    folder, path = tmp_path / "folder", tmp_path / "folder" / "x.pt"
    folder.mkdir()
    save({"old": 1, "long": "x" * 10_000}, path)
    path.chmod(0o666)
    folder.chmod(0o555)
    for above in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(PermissionError):
            above.chmod(above.stat().st_mode | 0o055)
    code = ("import sys, minitorch\nclass Bad:\n    def __reduce__(self): raise ValueError('bad')\n"
            f"try: minitorch.save(Bad(), {str(path)!r})\nexcept ValueError: pass\n"
            f"assert minitorch.load({str(path)!r})['old'] == 1\nminitorch.save([1], {str(path)!r})")
    command = [sys.executable, "-c", code]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    root = os.path.dirname(os.path.dirname(minitorch.__file__))
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"}, cwd="/",
                          capture_output=True, text=True)
    folder.chmod(0o755)
    if any(text in done.stderr for text in ("ModuleNotFoundError", "Permission denied: '/root", "can't open")):
        pytest.skip("the other user cannot read this installation")
    assert done.returncode == 0, done.stderr
    assert load(path) == [1] and stat.S_IMODE(path.stat().st_mode) == 0o666 and os.listdir(folder) == ["x.pt"]


def test_writing_over_keeps_the_old_file_until_all_is_there(tmp_path, monkeypatch):
    """The same, without another user."""
    import builtins

    from minitorch.serialization import archive
    path = tmp_path / "x"
    path.write_bytes(b"old" * 100)
    real = builtins.open

    def refusing(file, mode="r", *args, **kwargs):
        if "x" in mode:
            raise PermissionError(13, "Permission denied", file)
        return real(file, mode, *args, **kwargs)
    monkeypatch.setattr(builtins, "open", refusing)
    with pytest.raises(ValueError), archive.written_whole(path) as file:
        file.write(b"part")
        raise ValueError
    assert path.read_bytes() == b"old" * 100
    with archive.written_whole(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    with pytest.raises(PermissionError), archive.written_whole(tmp_path / "absent"):
        pass


@pytest.mark.parametrize("name", ["n" * 255, "名" * 84 + ".pt", "é" * 126 + ".p", "😀" * 62 + ".pt"])
def test_names_as_long_as_the_system_allows(tmp_path, name):
    assert 250 <= len(name.encode()) <= 255
    for value in (1, 2):
        save(value, tmp_path / name)
        assert load(tmp_path / name) == value
    assert os.listdir(tmp_path) == [name]
