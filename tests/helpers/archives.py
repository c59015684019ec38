"""How tests of files make tensors, save, load, and write archives around any pickle."""

import io

import numpy as np

from minitorch import backends
from minitorch.core.tensor import wrap
from minitorch.serialization import load, save
from minitorch.serialization.archive import Writer


def tensor(array):
    return wrap(np.asarray(array), backends.get("cpu"))


def saved(value, **options):
    """The bytes of a file."""
    buffer = io.BytesIO()
    save(value, buffer, **options)
    return buffer.getvalue()


def loaded(data, **options):
    """The contents of a file's bytes."""
    return load(io.BytesIO(data), **options)


def archived(pickled, storages=(), **more):
    """A sound archive around any pickle; `storages`: (name, bytes) pairs, `more`: further records."""
    buffer = io.BytesIO()
    archive = Writer(buffer.write)
    records = {"data.pkl": pickled, "byteorder": b"little", **dict(storages), "version": b"3\n", **more}
    for name, data in records.items():
        archive.add(name, data)
    archive.close()
    return buffer.getvalue()
