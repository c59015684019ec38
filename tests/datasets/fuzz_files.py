"""Mutated files for every reader: whatever the bytes, a sound object or a documented error, within limits.

    python -m tests.datasets.fuzz_files --count 100000 --record benchmarks/results/files.json  # some hours
    python -m tests.datasets.fuzz_files --reader npz --first 4711 --count 1     # one of them again

Files are made of valid ones from seeds, by changes that know nothing of the format and by changes that keep most of it
sound (operations of a pickle, fields of a header with the right checksum). A child process reads them; it may not run
code, import anything or touch a file outside of its folder, and has 2 seconds (of its own) and 300 MB for each. If it
dies or does not come back, the parent notes the seed and starts another. `test_fuzz_files.py` takes a sample.
"""

import argparse
import functools
import gzip
import io
import json
import lzma
import mmap
import os
import pickle
import platform
import random
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np

import minitorch
from minitorch.datasets import CIFAR10
from minitorch.datasets.archives import extract_archive
from minitorch.datasets.mnist import read_idx
from minitorch.serialization import load, load_file, load_npz
from tests import ROOT
from tests.helpers.archives import archived, saved
from tests.serialization.test_fuzz import (
    ODD,
    ODD_INTS,
    damaged,
    forged,
    objects,
    operations,
    pickle_of,
    sound,
)

SECONDS, MEGABYTES = 2.0, 300
STUCK = 30.0                                               # seconds of a child's own time without a sign of life
READERS = {}                                               # name -> (makes the valid files, mutates, reads, errors)


def reader(name, *errors, mutate=None):
    """Enter ``make() -> list of files`` and, returned by it, ``read(path, data)``."""
    def enter(make):
        READERS[name] = make, mutate or damaged, errors or (RuntimeError,)
        return make
    return enter


# ------------------------------------------------------------------ .pt
def forge_pickle(rng, data, others, odd=ODD):
    """Whole operations of the pickle exchanged, in a sound archive."""
    if rng.random() < 0.5:
        return damaged(rng, data, others)
    pickles, cut = taken_apart(tuple(others))
    which = rng.randrange(len(pickles))
    return archived(forged(rng, cut[which], cut, odd), pickles[which][1])


@functools.cache
def taken_apart(files):
    pickles = [pickle_of(data) for data in files]
    return pickles, [operations(pickled) for pickled, _ in pickles]


def read_pt(path, data):
    sound(load(io.BytesIO(data)), path)


@reader("pt", RuntimeError, pickle.UnpicklingError, EOFError, mutate=forge_pickle)
def pt():
    return [saved(value, pickle_protocol=protocol) for value in objects() for protocol in (2, 4)], read_pt


@reader("pt before 1.6", RuntimeError, pickle.UnpicklingError, EOFError)
def pt_legacy():
    return [saved(value, _use_new_zipfile_serialization=False) for value in objects()], read_pt


# ------------------------------------------------------------------ safetensors, npz
def forge_safetensors(rng, data, others):
    """Another value somewhere in the header, or damage."""
    if rng.random() < 0.4:
        return damaged(rng, data, others)
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    for _ in range(rng.choice((1, 1, 2, 3))):
        name = rng.choice(list(header))
        entry = header[name]
        if not isinstance(entry, dict) or not entry:
            continue
        key = rng.choice(list(entry))
        odd = rng.choice((*ODD_INTS, 1e300, None, True, "F32", "BF16", "F8_E4M3", "", [], {}, [1], [0, 2**62], [2, -2],
                          [10**400], "x" * 100))
        if isinstance(entry[key], list) and entry[key] and rng.random() < 0.6:
            entry[key][rng.randrange(len(entry[key]))] = odd
        else:
            entry[key] = odd
    if rng.random() < 0.1:
        header[rng.choice(("z", "a", "", "__metadata__"))] = rng.choice(list(header.values()))
    text = json.dumps(header).encode()
    text = rng.choice((text, text, text, b"[" * 5000, text * 2, text.replace(b"}", b"", 1)))
    return struct.pack("<Q", len(text)) + text + data[8 + length:]


@reader("safetensors", mutate=forge_safetensors)
def safetensors():
    def file(arrays):
        header, body = {"__metadata__": {"of": "a test"}}, b""
        for name, (kind, array) in arrays.items():
            header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(body),
                                                                                        len(body) + array.nbytes]}
            body += array.tobytes()
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + body
    return [file({"a": ("F32", np.ones((2, 3), "f")), "b": ("I64", np.arange(4)), "c": ("BOOL", np.ones(3, bool))}),
            file({"x": ("BF16", np.ones((3, 2), "u2")), "y": ("F64", np.ones(()))}), file({})], read_safetensors


def read_safetensors(path, data):
    write(path, data)
    sound(load_file(path), path)


def forge_npz(rng, data, others):
    """Another header in one of the arrays, with the right checksums, or damage."""
    if rng.random() < 0.4:
        return damaged(rng, data, others)
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(
            target, "w", rng.choice((zipfile.ZIP_STORED,) * 8 + (zipfile.ZIP_DEFLATED,) * 8 + (
                zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)), compresslevel=1) as new:
        for info in old.infolist():
            content = old.read(info)
            if rng.random() < 0.7:
                content = rng.choice((odd_npy, odd_npy, damaged_npy))(rng, content)
            new.writestr(rng.choice((info.filename,) * 9 + ("x", "../../y.npy")), content)
    return target.getvalue()


def damaged_npy(rng, content):
    return damaged(rng, content, [content])


def odd_npy(rng, content):
    number = lambda: str(rng.choice((*ODD_INTS, 6, 3)))
    sizes = ", ".join(number() for _ in range(rng.choice((0, 1, 1, 2, 3, 40, 70))))
    shape = f"({sizes}{rng.choice((',', '', ')'))})"
    descr = rng.choice(("'<f8'", "'<f4'", "'|O'", "'<U9'", "'V8'", "'>i4'", "'<M8[s]'", "[('a', '<f4')]", "'<f16'",
                        "''", "9", "'" + "(" * 3000 + "'"))
    shape = rng.choice((shape, shape, "(6,)", "(2, 3)", "()", "(2L, 3L)", "-" * 6000 + "1", "((6,),)"))
    text = rng.choice(("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}",) * 5 + ("{{{}{}{}", "({} {} {})")).format(
        descr, rng.choice(("True", "False", "0")), shape).encode()
    length = rng.choice((len(text),) * 8 + (2**16 - 1, 0))
    body = content[-48:] if rng.random() < 0.7 else bytes(rng.choice((0, 1, 1000, 10**5)))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", length) + text + body


@reader("npz", mutate=forge_npz)
def npz():
    found = []
    for write_file in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        write_file(buffer, a=np.arange(6.0).reshape(2, 3).T, b=np.arange(6, dtype=">i4"), c=np.array(True))
        found.append(buffer.getvalue())
    return found, lambda path, data: sound(load_npz(io.BytesIO(data)), path)


# ------------------------------------------------------------------ data sets
def forge_idx(rng, data, others):
    kinds, dims = (8, 9, 11, 12, 13, 14, 0, 255), (0, 1, 2, 3, 64, 65, 255)
    if rng.random() < 0.5:
        head = bytes([0, 0, rng.choice(kinds), rng.choice(dims)])
        sizes = [rng.choice((0, 1, 2, 3, 6, 28, 2**31, 2**32 - 1, rng.randrange(2**32))) for _ in range(head[3])]
        data = head + struct.pack(f">{len(sizes)}I", *sizes) + bytes(rng.choice((0, 6, 12, 48, 10**6)))
    return damaged(rng, data, others) if rng.random() < 0.6 else data


def forge_idx_gz(rng, data, others):
    plain = forge_idx(rng, gzip.decompress(data), [gzip.decompress(other) for other in others])
    data = gzip.compress(plain, 1)
    return damaged(rng, data, others) if rng.random() < 0.4 else data


def idx_file():
    return [b"\0\0\x08\x02" + struct.pack(">II", 2, 3) + bytes(6), b"\0\0\x0e\x01" + struct.pack(">I", 3) + bytes(24),
            b"\0\0\x0c\x03" + struct.pack(">III", 1, 2, 3) + bytes(24)]


@reader("IDX", mutate=forge_idx)
def idx():
    def read(path, data):
        write(path, data)
        read_idx(path).sum()
    return idx_file(), read


@reader("IDX packed", mutate=forge_idx_gz)
def idx_gz():
    def read(path, data):
        write(path + ".gz", data)
        read_idx(path + ".gz").sum()
    return [gzip.compress(data) for data in idx_file()], read


NUMPY_ODD = ODD + [b"c" + name + b"\n" for name in (
    b"numpy.core.multiarray\n_reconstruct", b"numpy._core.multiarray\n_reconstruct", b"numpy\nndarray", b"numpy\ndtype",
    b"numpy.core.multiarray\nscalar", b"numpy\nload")] + [pickle.dumps(value, 2)[2:-1] for value in (
        "O8", "O", "V8", "u1", "f8", "S9", "|", "<", (3, "|", None, None, None, -1, -1, 63), (0,), (1, 3072), (2**40,),
        (2**31, 2**31, 2**31))]


def forge_cifar(rng, data, others):
    if rng.random() < 0.3:
        return damaged(rng, data, others)
    cut = cut_pickles(tuple(others))
    return forged(rng, cut[others.index(data)], cut, NUMPY_ODD)


@functools.cache
def cut_pickles(files):
    return [operations(pickled) for pickled in files]


@reader("CIFAR", mutate=forge_cifar)
def cifar():
    pixels = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072)
    batch = {"data": pixels, "labels": [1, 2], "batch_label": "x", "filenames": ["a", "b"]}
    python_2 = (b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00"
                b"\x85U\x01b\x87Rq\x05(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87R(K\x03U\x01|NNN"
                b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T\x00\x0c\x00\x00" + pixels[0].tobytes() +
                b"tbU\x06labelsq\x07]q\x08K\x07au.")
    with_array = pickle.dumps({"data": pixels, "labels": np.array([1, 2])}, 2)
    names = pickle.dumps({"label_names": [str(i) for i in range(10)]}, 2)

    def read(path, data):
        for batch, meta in ((data, names), (files[0], data)):
            folder = Path(path).parent / "c" / "cifar-10-batches-py"
            folder.mkdir(parents=True, exist_ok=True)
            write(str(folder / "test_batch"), batch)
            write(str(folder / "batches.meta"), meta)
            try:
                np.asarray(CIFAR10(str(folder.parent), train=False).targets).sum()
            except RuntimeError:
                if meta is data:
                    raise
    files = [pickle.dumps(batch, 2), python_2, with_array, names]
    return files, read


@reader("CIFAR binary")
def cifar_binary():
    def read(path, data):
        folder = Path(path).parent / "b" / "cifar-10-batches-bin"
        folder.mkdir(parents=True, exist_ok=True)
        write(str(folder / "test_batch.bin"), data)
        write(str(folder / "batches.meta.txt"), data[:50])
        CIFAR10(str(folder.parent), train=False)
    return [bytes(range(256)) * 12 + b"\3", b"cat\ndog\n" + bytes(3065)], read


# ------------------------------------------------------------------ archives
PACKERS = {".tar": bytes, ".tar.gz": lambda data: gzip.compress(data, 1),
           ".tar.xz": lambda data: lzma.compress(data, preset=0)}


def forge_tar(rng, data, others):
    """Fields of headers changed, with the right checksum, packed in one of several ways; or damage before or after."""
    suffix, data = data[:8].rstrip(b"\0").decode(), bytearray(data[8:])
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = 512 * rng.randrange(max(len(data) // 512, 1))
        start, width = rng.choice(((0, 100), (100, 8), (124, 12), (124, 12), (136, 12), (156, 1), (156, 1), (257, 8),
                                   (345, 155), (386, 24), (482, 1), (483, 12)))
        value = rng.choice((b"77777777777", b"\x80" + bytes(10) + b"\x05", b"\xff" * 12, b"-1", b"0", b"../../x",
                            b"/etc/x", b"S", b"L", b"x", b"g", b"K", b"2", b"1", b"5", b"\x80\0\0\0\x01" + bytes(7),
                            b"1" * 150, rng.randbytes(width)))
        data[at + start:at + start + width] = value[:width].ljust(width, b"\0")
        if rng.random() < 0.9 and len(data) >= at + 512:
            data[at + 148:at + 156] = b" " * 8
            data[at + 148:at + 156] = b"%06o\0 " % sum(data[at:at + 512])
    if rng.random() < 0.4:
        data = damaged(rng, bytes(data), [other[8:] for other in others])
    packed = PACKERS[suffix](bytes(data))
    if rng.random() < 0.3:
        packed = damaged(rng, packed, [packed])
    return suffix.encode().ljust(8, b"\0") + packed


@reader("tar", mutate=forge_tar)
def tar():
    found = []
    for layout in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=layout) as archive:
            for name, content in {"a": b"hello", "d/b": bytes(1000), "é" * 40 + "/" + "c" * 90: b"x" * 600}.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                if layout == tarfile.PAX_FORMAT:
                    info.pax_headers = {"comment": "x" * 20, "mtime": "1.5"}
                archive.addfile(info, io.BytesIO(content))
        found += [suffix.encode().ljust(8, b"\0") + buffer.getvalue() for suffix in PACKERS]
    return found, lambda path, data: extract(path + data[:8].rstrip(b"\0").decode(), data[8:])


def forge_zip(rng, data, others):
    """Fields of the directory and of local headers, or damage."""
    if rng.random() < 0.5:
        return damaged(rng, data, others)
    data = bytearray(data)
    heads = [i for i in range(len(data) - 4) if data[i:i + 2] == b"PK"]
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.choice(heads) + rng.randrange(4, 46)
        width = rng.choice((1, 2, 4))
        value = rng.choice((0, 1, 8, 12, 14, 255, len(data), 2**31, 2**(8 * width) - 1, rng.randrange(2**16)))
        data[at:at + width] = (value % 2**(8 * width)).to_bytes(width, "little")
    return bytes(data)


@reader("zip", mutate=forge_zip)
def zips():
    found = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            archive.writestr("a", b"hello" * 40)
            archive.writestr("folder/b", bytes(1000))
            archive.writestr("zeros", bytes(10**5))
        found.append(buffer.getvalue())
    return found, lambda path, data: extract(path + ".zip", data)


@reader("gz")
def gz():
    return [gzip.compress(b"hello" * 9), gzip.compress(bytes(10**6))], lambda path, data: extract(path + ".gz", data)


def extract(path, data):
    write(path, data)
    extract_archive(path, Path(path).parent / "out")


def faults():
    """A reader with every fault there is, by which the fuzzer is tested."""
    def read(path, data):
        if data != b"0":
            [None, lambda: os.kill(os.getpid(), signal.SIGSEGV), lambda: spin(), lambda: bytearray(2**30),
             lambda: open("/etc/hostname").close(), lambda: exec("1"), lambda: {}["x"]][int(data)]()
    return [b"0"], read


def spin():
    while True:
        pass


READERS["faults"] = faults, lambda rng, data, others: b"%d" % (rng.seed_number % 7), (RuntimeError,)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


# ------------------------------------------------------------------ the child
class TooLong(BaseException):
    """Not an Exception, lest a reader takes it for damage."""


def too_long(*_):
    raise TooLong


FORBIDDEN = ("import", "exec", "compile", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.startfile",
             "subprocess.", "socket.", "ctypes.", "pickle.find_class", "marshal.", "code.", "pty.", "shutil.unpack")
PATHS = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.utime")


class Watch:
    """Python's audit hook: what a reader does besides computing."""

    def __init__(self, folder):
        self.folder, self.on, self.seen = folder, False, []
        sys.addaudithook(self.hook)

    def hook(self, event, args):
        if not self.on:
            return
        names_path = event in PATHS and isinstance(args[0], (str, bytes, os.PathLike))
        path = os.fsdecode(args[0]) if names_path else self.folder
        if event.startswith(FORBIDDEN) or not os.path.realpath(path).startswith(self.folder):
            self.seen.append(f"{event} {str(args)[:100]}")


def run(name, first, count, folder, progress, out):
    """Read files number `first` ... of a reader; a line on `out` for each problem, and one with the figures."""
    import resource
    make, mutate, errors = READERS[name]
    warnings.simplefilter("ignore")
    "".encode("cp437")
    valid, read = make()
    path = os.path.join(folder, "file")
    for data in valid:
        for _ in range(2):                                 # what is imported when first needed is so by now
            try:
                read(path, data if name != "tar" else forge_tar(random.Random(2**40), data, valid))
            except errors:
                pass
    for broken in range(300 if name != "faults" else 0):
        try:
            read(path, mutate(random.Random(10**9 + broken), valid[broken % len(valid)], valid))
        except errors:
            pass
    start = peak()
    here = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (here + (MEGABYTES << 20),) * 2)
    signal.signal(signal.SIGPROF, too_long)
    watch, loaded, slowest = Watch(os.path.realpath(folder)), 0, (0.0, first)
    for seed in range(first, first + count):
        progress[:8] = struct.pack("<q", seed)
        rng = random.Random(f"{name} {seed}")
        rng.seed_number = seed
        data = mutate(rng, rng.choice(valid), valid)
        problem = None
        shutil.rmtree(os.path.join(folder, "out"), ignore_errors=True)
        watch.seen.clear()
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        watch.on = True
        try:
            read(path, data)
            loaded += 1
        except errors as error:
            problem = "message of more than 2000 characters" if len(str(error)) > 2000 else None
        except TooLong:
            problem = f"more than {SECONDS} s"
        except MemoryError:
            problem = f"more than {MEGABYTES} MB"
        except AssertionError as error:
            problem = f"not sound: {str(error)[:200]}"
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error)[:200]}"
        watch.on = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, (time.process_time() - begun, seed))
        problem = f"it does {watch.seen[0]}" if watch.seen else problem
        if problem is not None:
            print(json.dumps({"seed": seed, "problem": problem}), file=out, flush=True)
    print(json.dumps({"done": count, "loaded": loaded, "slowest": slowest, "megabytes": (peak() - start) >> 20}),
          file=out, flush=True)


def peak():
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ------------------------------------------------------------------ the parent
def fuzz(name, first, count, report=print):
    """Have `count` files of a reader read by children; {files, loaded, refused, seconds, megabytes, problems}."""
    found = {"files": count, "loaded": 0, "slowest_seconds": 0.0, "megabytes": 0, "problems": []}
    at, end = first, first + count
    while at < end:
        at = child(name, at, min(end - at, 5000), found)
    for problem in found["problems"]:
        report(f"{name}: {problem}")
    return found


def child(name, first, count, found):
    """One child process; where to go on after it."""
    with tempfile.TemporaryDirectory(prefix="minitorch-fuzz-") as folder:
        progress_path, out_path = Path(folder, "progress"), Path(folder, "found")
        work = Path(folder, "work")
        work.mkdir()
        progress_path.write_bytes(struct.pack("<q", first).ljust(4096, b"\0"))
        command = [sys.executable, "-m", "tests.datasets.fuzz_files", "--reader", name,
                   "--first", str(first), "--count", str(count), "--child", folder]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1",
                       "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        code, seed = watched(process, progress_path)
        for line in out_path.read_text().splitlines() if out_path.exists() else ():
            entry = json.loads(line)
            if "problem" in entry:
                found["problems"].append(entry)
            else:
                found["loaded"] += entry["loaded"]
                found["slowest_seconds"] = round(max(found["slowest_seconds"], entry["slowest"][0]), 3)
                found["megabytes"] = max(found["megabytes"], entry["megabytes"])
        if code == 0:
            return first + count
        text = process.stderr.read()[-1500:]
        found["problems"].append({"seed": seed, "problem": f"the process ended with {code}: {text}"})
        return seed + 1


def watched(process, progress_path):
    """Wait for a child that shows by its seeds that it lives: its exit status (None if it did not), its last seed."""
    last, since = None, 0.0
    while process.poll() is None:
        time.sleep(0.02)
        seed, = struct.unpack("<q", progress_path.read_bytes()[:8])
        if seed != last:
            last, since = seed, time_of(process.pid)
        elif time_of(process.pid) - since > STUCK:
            process.kill()
            process.wait()
            return None, seed
    return process.returncode, struct.unpack("<q", progress_path.read_bytes()[:8])[0]


def time_of(pid):
    """Seconds that a process has computed."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:                                        # it has ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="files, over all readers")
    parser.add_argument("--first", type=int, default=0, help="number of the first file of each reader")
    parser.add_argument("--reader", choices=sorted(READERS))
    parser.add_argument("--record", type=Path, help="JSON file for the figures")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        with open(Path(given.child, "progress"), "r+b") as file, open(Path(given.child, "found"), "a") as out:
            run(given.reader, given.first, given.count, os.path.join(given.child, "work"),
                mmap.mmap(file.fileno(), 4096), out)
        return 0
    wanted = [given.reader] if given.reader else [name for name in READERS if name != "faults"]
    per_reader = -(-given.count // len(wanted))
    rows = {}
    for name in wanted:
        rows[name] = row = fuzz(name, given.first, per_reader)
        print(f"{name}: {row['files']} files, {row['loaded']} loaded, slowest {row['slowest_seconds']} s, "
              f"{row['megabytes']} MB, {len(row['problems'])} problems", flush=True)
        if given.record:
            facts = {"limits": {"seconds": SECONDS, "megabytes": MEGABYTES}, "first": given.first, "readers": rows,
                     "python": platform.python_version(), "numpy": np.__version__,
                     "minitorch": minitorch.__version__, "files": sum(row["files"] for row in rows.values())}
            given.record.write_text(json.dumps(facts, indent=1) + "\n")
    return 1 if any(row["problems"] for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
