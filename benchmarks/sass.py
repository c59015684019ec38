"""Machine code of a GPU, read as text: the loop that does the work of a kernel, and which instructions are in it."""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

__all__ = ["CLASSES", "Instruction", "Part", "assemble", "code_of", "cycles", "main_part", "mix", "tool"]

# Classes of instructions by their first word, first match; then how many threads of a multiprocessor run one in a
# cycle (compute capability 9.0; CUDA C++ Programming Guide, "Throughput of native arithmetic instructions").
CLASSES = {
    "tensor": (r"[HIDQ]MMA|[HIQB]GMMA", None),
    "move": (r"U?MOV|R2UR|CS2R|S2U?R|U?LDC|R2P|P2R|IMAD\.(MOV|U32)|HFMA2\.MMA", 128),
    "float": (r"F(ADD|MUL|FMA|MNMX|SEL|SET|SETP|SWZADD|CHK)\b|H(ADD|MUL|FMA|MNMX|SET|SETP)2", 128),
    "double": (r"D(ADD|MUL|FMA|MNMX|SET|SETP)\b", 64),
    "special": (r"MUFU", 16),
    "convert": (r"(F2F|I2F|F2I|I2I|FRND)\b", 16),
    "pack": (r"F2FP|I2IP|PRMT", 64),
    "load": (r"LDG(STS)?\b|UTMALDG|UBLKCP|LD\b", 32),
    "store": (r"STG|RED\b|ATOM\b|ATOMG|UTMASTG|ST\b", 32),
    "shared": (r"LDS|STS|ATOMS|LDSM|STSM", 32),
    "spill": (r"LDL|STL", 32),
    "shuffle": (r"SHFL|VOTE|REDUX|MATCH", 32),
    "control": (r"BRA|BRX|BAR|BSSY|BSYNC|WARPSYNC|EXIT|CALL|RET|DEPBAR|LDGDEPBAR|ERRBAR|MEMBAR|NOP|SYNCS|WARPGROUP|"
                r"YIELD|NANOSLEEP|BREAK|BMOV|KILL|USETMAXREG|ARRIVES|FENCE|CCTL|U?PLOP3|ELECT", 128),
    "integer": (r".", 64),
}
LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?(\S+)([^;]*);")
LABEL = re.compile(r"^(\.L_x_\d+):")
FEW = 4                                                    # a loop of fewer instructions does no work: it waits


class Instruction(NamedTuple):
    """One instruction: its first word with suffixes, its operands, and its predicate, "" for none."""

    word: str
    operands: str
    predicate: str

    @property
    def kind(self):
        """Its class, of `CLASSES`."""
        return kind_of(self.word)

    @property
    def bytes(self):
        """Bytes that it moves from or to global memory, for one thread; 0 for bulk copies, which say no size."""
        if self.kind not in ("load", "store") or self.word.startswith("U"):
            return 0
        found = re.search(r"\.(128|64|U?16|[US]?8)\b", self.word)
        return int(re.sub(r"\D", "", found[1])) // 8 if found else 4


class Part(NamedTuple):
    """A stretch of a kernel: "loop" or "straight", and its instructions."""

    what: str
    instructions: tuple

    @property
    def bytes(self):
        """Bytes that one thread moves from and to global memory in one pass over this part."""
        return sum(i.bytes for i in self.instructions)


@functools.cache
def kind_of(word):
    return next(kind for kind, (words, _) in CLASSES.items() if re.match(words, word))


WHEELS = {"nvdisasm": "nvidia-cuda-nvdisasm", "ptxas": "nvidia-cuda-nvcc"}


@functools.cache
def tool(name):
    """The path of "nvdisasm" or "ptxas", on PATH or of its wheel; FileNotFoundError that says how to get it."""
    found = shutil.which(name)
    room = None if found else importlib.util.find_spec("nvidia")
    for folder in (room.submodule_search_locations or ()) if room else ():
        found = found or next((str(p) for p in Path(folder).glob(f"*/bin/{name}") if os.access(p, os.X_OK)), None)
    if found is None:
        raise FileNotFoundError(f"{name} is missing: pip install {WHEELS[name]}, or put the bin folder of a CUDA "
                                f"toolkit on PATH")
    return found


def assemble(ptx, arch, options=()):
    """Errors of ptxas about a file of PTX for an architecture such as "90a"; "" if it takes it."""
    done = subprocess.run([tool("ptxas"), f"-arch=sm_{arch}", *options, str(ptx), "-o", os.devnull],
                          capture_output=True, text=True)
    return done.stderr.strip() if done.returncode else ""


def code_of(cubin, entry):
    """The instructions of one kernel of a cubin, and its labels: name -> index of the instruction that follows."""
    done = subprocess.run([tool("nvdisasm"), "-c", str(cubin)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"nvdisasm refuses {cubin}: {done.stderr.strip()[:300]}")
    instructions, labels, inside = [], {}, False
    for line in done.stdout.splitlines():
        if line.startswith(".text."):
            inside = line == f".text.{entry}:"
        elif inside:
            label, found = LABEL.match(line), LINE.match(line)
            if label:
                labels[label[1]] = len(instructions)
            elif found:
                instructions.append(Instruction(found[3], found[4], found[2] or ""))
    if not instructions:
        raise ValueError(f"{cubin} has no kernel {entry!r}")
    return instructions, labels


def loops(instructions, labels):
    """The innermost loops, as (first, last) indices: from the target of a jump backwards to the jump."""
    found = set()
    for i, instruction in enumerate(instructions):
        target = re.search(r"\((\.L_x_\d+)\)", instruction.operands)
        if instruction.word.startswith("BRA") and target and labels.get(target[1], i + 1) <= i - FEW:
            found.add((labels[target[1]], i))
    return sorted(a for a in found if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in found))


def main_part(instructions, labels):
    """The `Part` that does the work, by a rule: of the innermost loops, and of the code outside them up to the first
    exit, the one with most tensor instructions; then most arithmetic beside shared memory, as products have it; then
    the widest access to global memory, since remainders are done element by element; then a loop; then most of all."""
    inner = loops(instructions, labels)
    parts = [Part("loop", tuple(instructions[a:b + 1])) for a, b in inner]
    end = next((i for i, x in enumerate(instructions) if x.word == "EXIT" and not x.predicate), len(instructions))
    outside = [x for i, x in enumerate(instructions[:end + 1]) if not any(a <= i <= b for a, b in inner)]
    parts.insert(0, Part("straight", tuple(outside)))

    def work(part):
        kinds, is_loop = mix(part), part.what == "loop"
        floats = kinds["float"] + kinds["double"]
        return (kinds["tensor"] if is_loop else 0, floats if is_loop and kinds["shared"] else 0,
                max([i.bytes for i in part.instructions], default=0), is_loop, part.bytes + floats)
    return max(parts, key=work)


def mix(part):
    """How many instructions of each class a part has, a `Counter`."""
    return Counter(i.kind for i in part.instructions)


def cycles(part):
    """Cycles of a multiprocessor that one pass of one thread over a part takes at least, by its busiest unit."""
    kinds = mix(part)
    units = [kinds[kind] / rate for kind, (_, rate) in CLASSES.items() if rate]
    units += [len(part.instructions) / 128, (kinds["special"] + kinds["convert"]) / 16,
              (kinds["load"] + kinds["store"] + kinds["shared"] + kinds["shuffle"]) / 32]
    return max(units)
