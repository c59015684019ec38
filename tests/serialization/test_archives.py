"""Contents of files: shared objects, empty tensors, objects with slots, entries at odd places."""

import copy
import io
import zipfile

import pytest

import minitorch as torch


@pytest.mark.parametrize("shift", range(1, 9))
@pytest.mark.parametrize("mmap", [False, True])
def test_arrays_at_odd_places_in_a_file(tmp_path, shift, mmap):
    """Another writer need not align its storages: entries are moved by a few bytes of padding in the first header."""
    values = {"a": torch.arange(5, dtype=torch.float64), "b": torch.arange(3, dtype=torch.int16)}
    buffer = io.BytesIO()
    torch.save(values, buffer)
    path = tmp_path / "moved.pt"
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            info = zipfile.ZipInfo(entry.filename)
            info.extra = b"FB" + shift.to_bytes(2, "little") + bytes(shift)
            new.writestr(info, old.read(entry))
    found = torch.load(path, mmap=mmap)
    assert found["a"].tolist() == [0, 1, 2, 3, 4] and found["b"].tolist() == [0, 1, 2]
    assert (found["a"] + 1).tolist() == [1, 2, 3, 4, 5]
    found["a"][0] = 7
    assert found["a"].sum().item() == 17


def test_files_that_are_none():
    for wrong in (5, None, ["name"]):
        with pytest.raises(AttributeError, match="file-like object with a 'write'"):
            torch.save({}, wrong)


def test_compressed_files_are_refused_with_advice():
    buffer, packed = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.ones(3)}, buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    packed.seek(0)
    with pytest.raises(RuntimeError, match="compressed or encrypted"):
        torch.load(packed)


def test_what_is_shared_stays_shared_in_a_file():
    inner = [torch.ones(2)]
    buffer = io.BytesIO()
    torch.save({"a": inner, "b": inner, "c": inner[0], "name": "a" * 50, "again": "a" * 50}, buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert found["a"] is found["b"] and found["c"].data_ptr() == found["a"][0].data_ptr()
    assert found["name"] == found["again"] == "a" * 50


def test_empty_tensors_anywhere_in_their_storage():
    x = torch.arange(6.0)
    buffer = io.BytesIO()
    torch.save([x, x[2:2], x[6:], x[3:5]], buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert [y.tolist() for y in found] == [[0, 1, 2, 3, 4, 5], [], [], [3, 4]]


class Slotted:
    __slots__ = ("a", "__dict__")


def test_objects_with_slots_come_back():
    thing = Slotted()
    thing.a, thing.b = 1, 2
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    for safe in (False, True):
        buffer.seek(0)
        with torch.serialization.safe_globals([Slotted]):
            found = torch.load(buffer, weights_only=safe)
        assert (found.a, found.b) == (1, 2)
    plain = type(copy)("plain")                            # two attributes and no slots: a state of two entries
    from minitorch.serialization.unpickler import set_state
    set_state(plain, {"one": 1, "two": 2})
    assert (plain.one, plain.two) == (1, 2)
