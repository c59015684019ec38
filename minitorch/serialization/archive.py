"""The container of a ``.pt`` file: a zip archive of uncompressed records, each beginning at a multiple of 64 bytes.

Written here record by record with no seeking, so that any stream will do; read with the standard library's `zipfile`
for the directory and with checks of our own for the rest. The layout of both is PyTorch's (caffe2/serialize): a folder
that holds data.pkl, byteorder, data/0, data/1, ..., version and .data/serialization_id. A padding field in each local
header, tagged "FB", makes the alignment, so that storages can be mapped into memory where they lie.
"""

import hashlib
import mmap
import os
import stat
import struct
import zlib
from contextlib import contextmanager

import numpy as np

__all__ = ["Writer", "Reader", "written_whole"]

ALIGNMENT = 64
FOLDER = "archive"
LIMIT = 0xFFFFFFFF                                         # of the 32-bit fields; beyond it the zip64 ones are used
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64, LOCATOR64 = b"PK\x06\x06", b"PK\x06\x07"
UTF8 = 0x800                                               # flag: names are UTF-8
JAN_1_1980 = 0x21 << 16                                    # the first moment zip knows: files are reproducible


# ------------------------------------------------------------------ writing
def needs_64(n):
    """True if a number must stand in one of the 64-bit fields, with LIMIT in its ordinary place."""
    return n >= LIMIT


class Writer:
    """Writes an archive to `write`, a function that takes bytes-like objects."""

    def __init__(self, write):
        self.write, self.position, self.entries = write, 0, []

    def put(self, data):
        self.write(data)
        self.position += memoryview(data).nbytes

    def add(self, name, data):
        """Append a record. `data` is a bytes-like object with one byte per item."""
        name = f"{FOLDER}/{name}".encode()
        size, crc, start = len(data), zlib.crc32(data), self.position
        large = needs_64(size)
        extra = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
        head = 30 + len(name) + len(extra) + 4
        padding = -(start + head) % ALIGNMENT
        extra += struct.pack("<HH", 0x4246, padding) + b"Z" * padding       # "FB"
        shown = LIMIT if large else size
        self.put(LOCAL + struct.pack("<HHHIIIIHH", 45 if large else 0, UTF8, 0, JAN_1_1980, crc, shown, shown,
                                     len(name), len(extra)) + name + extra)
        self.put(data)
        self.entries.append((name, crc, size, start))

    def close(self):
        """Append the directory."""
        start = self.position
        for name, crc, size, offset in self.entries:
            wide = [n for n in (size, size, offset) if needs_64(n)]
            extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
            version = 45 if wide else 0
            size, offset = (LIMIT if needs_64(n) else n for n in (size, offset))
            self.put(CENTRAL + struct.pack("<HHHHIIIIHHHHHII", version, version, UTF8, 0, JAN_1_1980, crc, size, size,
                                           len(name), len(extra), 0, 0, 0, 0, offset) + name + extra)
        end, count = self.position, len(self.entries)
        if count >= 0xFFFF or needs_64(end):
            self.put(END64 + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, end - start, start) +
                     LOCATOR64 + struct.pack("<IQI", 0, end, 1))
        count = min(count, 0xFFFF)
        self.put(END + struct.pack("<HHHHIIH", 0, 0, count, count, min(end - start, LIMIT), min(start, LIMIT), 0))

    def identity(self):
        """40 digits that tell archives of different contents apart."""
        text = repr([(name, crc, size) for name, crc, size, _ in self.entries])
        return f"{int(hashlib.sha256(text.encode()).hexdigest(), 16) % 10**40:040d}"


@contextmanager
def written_whole(path):
    """A file open for writing that takes the place of `path` when all is written and on the disk, and not before.

    Whatever happens on the way, power failure included, `path` holds either its old contents or all of the new. The
    new contents are gathered in a file beside it, ``.<name>.<8 letters>.tmp``; a killed process leaves it behind.
    Permissions are kept, links are followed. Anything but a regular file (a pipe, ``/dev/null``) is
    written directly, and so is, once all is gathered elsewhere, a file in a folder where no other
    can be made.
    """
    path = os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    mode = os.stat(path).st_mode if os.path.exists(path) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            yield file
        return
    start = os.fsencode(name)[:200].decode("utf-8", "ignore")       # a name has at most 255 bytes
    temporary = os.path.join(folder, f".{start}.{os.urandom(4).hex()}.tmp")
    try:
        file = open(temporary, "xb")
    except PermissionError:
        if mode is None:
            raise
        with written_over(path) as file:
            yield file
        return
    try:
        with file:
            yield file
            synced(file)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    if os.name == "posix":                                 # the new name, too, has to reach the disk
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def written_over(path):
    """A file open for writing whose contents are copied into the existing file `path` when they are complete.

    An error before that leaves the old contents; only a crash while they are copied can leave a part of the new.
    """
    import shutil
    import tempfile
    with open(path, "r+b") as target, tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        shutil.copyfileobj(file, target)
        target.truncate()
        synced(target)


def synced(file):
    file.flush()
    os.fsync(file.fileno())


# ------------------------------------------------------------------ reading
class Reader:
    """The records of an archive in `file`, which stays open for as long as they are read."""

    def __init__(self, file):
        import zipfile
        self.file, begin = file, file.tell()
        self.end = file.seek(0, 2)
        try:
            with zipfile.ZipFile(file) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, OSError, struct.error,
                IndexError) as error:
            raise broken(f"failed finding central directory ({error})") from None
        if not entries:
            raise broken("it is empty")
        for entry in entries:
            if entry.compress_type or entry.flag_bits & 1:
                raise broken(f"record {entry.orig_filename[:60]!r} is compressed or encrypted; PyTorch's are neither. "
                             f"Pack the file again with `zip -0 -r`")
        if sum(entry.file_size for entry in entries) > self.end - begin:
            raise broken("its records claim to be larger than the file")
        self.folder = entries[0].orig_filename.partition("/")[0]
        self.entries = {}
        for entry in entries:
            if entry.orig_filename in self.entries:
                raise broken(f"it holds two records named {entry.orig_filename!r}")
            self.entries[entry.orig_filename] = entry

    def __contains__(self, name):
        return f"{self.folder}/{name}" in self.entries

    def place(self, name):
        """Where a record's bytes begin and how many there are."""
        entry = self.entries.get(f"{self.folder}/{name}")
        if entry is None:
            raise broken(f"failed locating file {name}: file not found")
        inside = 0 <= entry.header_offset < self.end
        self.file.seek(entry.header_offset if inside else self.end)
        head = self.file.read(30)
        if len(head) < 30 or not head.startswith(LOCAL):
            raise broken(f"record {name} does not begin where the directory says")
        lengths = struct.unpack_from("<HH", head, 26)
        stored = self.file.read(lengths[0])
        start = entry.header_offset + 30 + sum(lengths)
        if stored != entry.orig_filename.encode("utf-8" if entry.flag_bits & UTF8 else "cp437"):
            raise broken(f"record {name} has another name in its own header")
        if start + entry.file_size > self.end:
            raise broken(f"record {name} ends after the end of the file")
        return start, entry.file_size

    def read(self, name):
        """A record as an array of bytes."""
        start, size = self.place(name)
        data = np.empty(size, np.uint8)
        self.file.seek(start)
        fill(self.file, data)
        recorded = self.entries[f"{self.folder}/{name}"].CRC
        if recorded and zlib.crc32(data) != recorded:      # 0: written with PyTorch's set_crc32_options(False)
            raise broken(f"the checksum of record {name} is wrong")
        return data

    def text(self, name):
        return self.read(name).tobytes()

    def map(self, name, mapped):
        """A record as an array of bytes in `mapped`, the whole file in memory; its checksum is not looked at."""
        start, size = self.place(name)
        return np.frombuffer(mapped, np.uint8, size, start)


class PyTorchFileReader(Reader):
    """The records of a file of PyTorch's, by name: ``PyTorchFileReader("model.pt").get_record("data.pkl")``."""

    def __init__(self, file):
        super().__init__(open(file, "rb") if isinstance(file, (str, bytes, os.PathLike)) else file)

    def get_all_records(self):
        """The names of all records."""
        return [name.partition("/")[2] for name in self.entries]

    def has_record(self, name):
        """True if there is a record of that name."""
        return name in self

    def get_record(self, name):
        """The bytes of a record."""
        return self.text(name)

    def get_record_offset(self, name):
        """Where in the file the bytes of a record begin."""
        return self.place(name)[0]


def fill(file, data):
    """Read as many bytes as the array `data` holds into it."""
    rest = memoryview(data)
    while len(rest):
        n = file.readinto(rest) if hasattr(file, "readinto") else copied(file.read(len(rest)), rest)
        if not n:
            raise broken("it ends too early")
        rest = rest[n:]


def copied(data, target):
    target[:len(data)] = data
    return len(data)


def map_file(path):
    """All of a file as memory: pages are read when they are touched, and writes to them stay private."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def broken(why):
    return RuntimeError(f"failed reading zip archive: {why[:300]}. The file is damaged or not complete: perhaps it was "
                        f"not saved or copied to its end, or was changed since.")
