"""Archives of every kind that `extract_archive` reads, of drawn files."""

import io
import pathlib
import tarfile
import tempfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitorch.datasets.utils import extract_archive

METHODS = {"zip": zipfile.ZIP_STORED, "zip deflated": zipfile.ZIP_DEFLATED,
           "zip bz2": zipfile.ZIP_BZIP2}
TARS = ("tar", "tar.gz", "tar.bz2", "tar.xz")
NAMES = st.sampled_from(["a.txt", "b", "in/c.bin", "in/deep/d"])


def packed(kind, files):
    """The bytes of an archive; {name: bytes}."""
    buffer = io.BytesIO()
    if kind.startswith("zip"):
        with zipfile.ZipFile(buffer, "w", METHODS[kind]) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(fileobj=buffer, mode=f"w:{kind.partition('.')[2]}") as archive:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("kind", [*METHODS, *TARS])
@given(files=st.dictionaries(NAMES, st.binary(max_size=300)))
@settings(max_examples=5, deadline=None, database=None, derandomize=True)
def test_every_kind_of_archive_gives_back_its_files(kind, files):
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, f"x.{kind.split()[0]}"), pathlib.Path(folder, "out")
        source.write_bytes(packed(kind, files))
        extract_archive(source, target)
        found = {path.relative_to(target).as_posix(): path.read_bytes()
                 for path in target.rglob("*") if path.is_file()}
        assert found == files
