"""Unpacking archives that may be damaged or forged: regular files only, into one folder only, and no bombs."""

import io
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..utils.bounds import most_of

_CHUNK = 1 << 20
_XZ_MEMORY = 100 << 20  # what xz -9 needs; a header may ask for 4 GB
_OUTSIDE = "{} holds {!r}, which lies outside of {}; nothing was unpacked"


def extract_members(archive: str | os.PathLike, names: Iterable[str], root: str | os.PathLike) -> None:
    """Write the named regular files of a tar archive under ``root``, and nothing else that may be in it."""
    wanted = set(names)
    with _tar(archive) as tar:
        for member in tar:
            if member.name not in wanted or not member.isfile():
                continue
            _refuse_sparse(archive, member)
            _write(tar.extractfile(member), Path(root, member.name))
            wanted.remove(member.name)
    if wanted:
        shown = ", ".join(sorted(wanted)[:10])
        raise RuntimeError(f"{archive} lacks {shown}. Delete it and download it again.")


def extract_archive(
    from_path: str | os.PathLike, to_path: str | os.PathLike | None = None, remove_finished: bool = False
) -> str:
    """Unpack a ``.tar``, ``.tar.gz``, ``.tgz``, ``.zip`` or ``.gz`` file into a folder, by default its own.

    RuntimeError where it is damaged, holds files that would lie outside of the folder, or would unpack to more than a
    hundred times its size (and 64 MB).
    """
    source = Path(from_path)
    folder = source.parent if to_path is None else Path(to_path)
    folder.mkdir(parents=True, exist_ok=True)
    result = folder
    if source.suffix == ".gz" and not source.stem.endswith(".tar"):
        result = folder / source.stem
        with _reported(source), _unpacked(source) as stream:
            _write(stream, result)
    elif source.suffix == ".zip":
        _extract_zip(source, folder)
    else:
        _extract_tar(source, folder)
    if remove_finished:
        source.unlink()
    return str(result)


def _extract_tar(source: Path, folder: Path) -> None:
    names = []
    with _tar(source) as tar:
        for member in tar:
            if member.isfile():
                _refuse_sparse(source, member)
                names.append(member.name)
        _check_inside(source, names, folder)
    extract_members(source, names, folder)


def _extract_zip(source: Path, folder: Path) -> None:
    import zipfile

    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
    with _reported(source), zipfile.ZipFile(source) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        _check_size(sum(entry.file_size for entry in entries), most_of(source.stat().st_size))
        _check_inside(source, [entry.filename for entry in entries], folder)
        for entry in entries:
            if entry.compress_type not in methods:
                raise ValueError(f"{entry.filename[:60]!r} is packed by method {entry.compress_type}")
            with archive.open(entry) as stream:
                _write(stream, folder / entry.filename)


def _check_inside(source: Path, names: list[str], folder: Path) -> None:
    inside = folder.resolve()
    for name in names:
        if not (inside / name).resolve().is_relative_to(inside):
            raise _Outside(_OUTSIDE.format(source, name[:200], folder))


def _refuse_sparse(archive: str | os.PathLike, member: Any) -> None:
    if member.issparse():  # a few bytes that stand for any number of zeros
        raise ValueError(f"{member.name[:60]!r} is a sparse file")


def _write(stream: Any, target: Path) -> None:
    """Copy a stream into a file; what cannot be read to its end leaves none."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as file:
        try:
            while chunk := stream.read(_CHUNK):
                file.write(chunk)
        except BaseException:
            file.close()
            target.unlink()
            raise


# Streams


class _Outside(RuntimeError):
    """The archive is whole, but not welcome."""


@contextmanager
def _reported(source: str | os.PathLike) -> Iterator[None]:
    """Whatever goes wrong with an archive is a RuntimeError that names it."""
    import lzma
    import tarfile
    import zipfile

    damage = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, struct.error, EOFError, OSError)
    confusion = (ValueError, OverflowError, LookupError, TypeError, AttributeError, NotImplementedError, RuntimeError)
    try:
        yield
    except _Outside:
        raise
    except (*damage, *confusion) as error:
        text = str(error)[:300] or type(error).__name__
        raise RuntimeError(f"{source} cannot be unpacked: {text}. Delete it and download it again.") from error


@contextmanager
def _tar(source: str | os.PathLike) -> Iterator[Any]:
    """A tar archive, packed in any way: members can be read once, in their order."""
    import tarfile

    with _reported(source), _unpacked(source) as stream:
        with tarfile.open(fileobj=_Forward(stream), mode="r:") as tar:  # type: ignore[call-overload]
            yield tar


@contextmanager
def _unpacked(source: str | os.PathLike) -> Iterator[Any]:
    """The contents of a file that may be packed by gzip, bzip2 or xz; ValueError where they become too many."""
    import bz2
    import gzip

    with open(source, "rb") as file:
        head = file.read(6)
        size = file.seek(0, 2)
        file.seek(0)
        if head.startswith(b"\x1f\x8b"):
            yield _Limited(gzip.GzipFile(fileobj=file), most_of(size))
        elif head.startswith(b"BZh"):
            yield _Limited(bz2.BZ2File(file), most_of(size))
        elif head == b"\xfd7zXZ\0":
            yield _Limited(_Xz(file), most_of(size))
        else:
            yield file


class _Limited(io.RawIOBase):
    """A stream that ends in a ValueError after `most` bytes."""

    def __init__(self, stream: Any, most: int) -> None:
        self.stream, self.most, self.count = stream, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.stream.read(min(len(buffer), _CHUNK))
        self.count += len(data)
        _check_size(self.count, self.most)
        buffer[: len(data)] = data
        return len(data)


class _Forward:
    """A stream that can be read and skipped through. Headers of archives may claim any size, also a negative one."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.position = stream, 0

    def tell(self) -> int:
        return self.position

    def seek(self, position: int) -> None:
        while self.position < position and self._more(position - self.position):
            pass
        if self.position > position:
            raise ValueError("a part of it lies before the one that it follows")

    def read(self, n: int) -> bytes:
        parts, end = [], self.position + n
        while self.position < end and (part := self._more(end - self.position)):
            parts.append(part)
        return b"".join(parts)

    def _more(self, n: int) -> bytes:
        part = self.stream.read(min(n, _CHUNK))
        self.position += len(part)
        return part


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"it unpacks to more than {most >> 20} MB, a hundred times its size. If you trust it, unpack "
                         "it with another program")


class _Xz:
    """A file packed by xz, unpacked in bounded memory."""

    def __init__(self, file: Any) -> None:
        import lzma

        self.file, self.engine = file, lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)

    def read(self, n: int) -> bytes:
        while not self.engine.eof:
            packed = self.file.read(1 << 16) if self.engine.needs_input else b""
            if self.engine.needs_input and not packed:
                raise EOFError("it ends too early")
            data = self.engine.decompress(packed, n)
            if data:
                return data
        return b""
