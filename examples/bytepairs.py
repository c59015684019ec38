"""Byte-level byte pair encoding: text to numbers and back, as GPT-2 and Llama 3 have it, from their published files.

`tokenizer_of(folder)` takes the package tokenizers where it is installed, then tiktoken, and else `BytePairs`, which is
slower and needs nothing. All three give the same numbers.
"""

import functools
import json
import re
import sys
import unicodedata
from pathlib import Path

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def tokenizer_of(folder, packages=("tokenizers", "tiktoken")):
    """The tokenizer of a folder with ``tokenizer.json``, or with ``vocab.json`` and ``merges.txt``.

    It has ``encode(text) -> numbers``, ``decode(numbers) -> bytes`` and ``special``, {text: number}. Of `packages` the
    first is used that is installed and can read the files.
    """
    folder = Path(folder)
    whole = folder / "tokenizer.json"
    if not whole.exists() and not (folder / "vocab.json").exists():
        raise FileNotFoundError(f"{folder} has neither tokenizer.json nor vocab.json and merges.txt")
    if "tokenizers" in packages and whole.exists():
        try:
            return Packaged(whole)
        except ImportError:
            pass
    own = BytePairs.of_file(whole) if whole.exists() else BytePairs.of_lists(folder)
    if "tiktoken" in packages:
        try:
            own.use_tiktoken(folder.name)
        except ImportError:
            pass
    return own


class Packaged:
    """A ``tokenizer.json`` read by the package tokenizers."""

    def __init__(self, path):
        import tokenizers
        self.inner = tokenizers.Tokenizer.from_file(str(path))
        self.special = {found.content: number for number, found in self.inner.get_added_tokens_decoder().items()}

    def encode(self, text):
        return self.inner.encode(text, add_special_tokens=False).ids

    def decode(self, numbers):
        text = self.inner.decode(list(numbers), skip_special_tokens=False)
        return text.encode()


class BytePairs:
    """Pairs of neighbours are merged, the pair that comes first in the list of merges first, until none is in it.

    Args:
        vocabulary: {token: number}, tokens in GPT-2's spelling of bytes (`letters`).
        merges: pairs of tokens, the first in the list first.
        pattern: what the text is cut into before; pairs do not go beyond.
        special: {text: number}, found in the text as they are.
        whole: a piece that is a token is not cut.
    """

    def __init__(self, vocabulary, merges, pattern=GPT2, special=None, whole=False):
        letter = letters()
        byte = {c: b for b, c in letter.items()}
        self.numbers = {as_bytes(token, byte): n for token, n in vocabulary.items() if all(c in byte for c in token)}
        self.ranks = {(as_bytes(a, byte), as_bytes(b, byte)): n for n, (a, b) in enumerate(merges)}
        self.special, self.pattern, self.whole, self.faster = dict(special or {}), pattern, whole, None
        self.bytes = {n: token for token, n in self.numbers.items()}
        self.bytes |= {n: text.encode() for text, n in self.special.items()}
        self.cut = re.compile(translated(pattern))
        longest_first = sorted(self.special, key=len, reverse=True)
        self.find_special = re.compile("|".join(re.escape(s) for s in longest_first)) if self.special else None
        self.piece = functools.lru_cache(1 << 16)(self.merged)

    @classmethod
    def of_lists(cls, folder):
        """From ``vocab.json`` and ``merges.txt``, GPT-2's."""
        vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
        lines = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
        merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
        special = {"<|endoftext|>": vocabulary["<|endoftext|>"]} if "<|endoftext|>" in vocabulary else {}
        return cls(vocabulary, merges, special=special)

    @classmethod
    def of_file(cls, path):
        """From a ``tokenizer.json`` of byte-level BPE; ValueError for other kinds: the package tokenizers has them."""
        data = json.loads(path.read_text(encoding="utf-8"))
        model, before = data["model"], data.get("pre_tokenizer") or {}
        steps = before.get("pretokenizers", [before])
        level = [s for s in steps if s.get("type") == "ByteLevel"]
        if model.get("type", "BPE") != "BPE" or not level or data.get("normalizer"):
            raise ValueError(f"{path} is not a byte-level BPE: `pip install tokenizers` reads it")
        patterns = [s["pattern"]["Regex"] for s in steps if s.get("type") == "Split" and "Regex" in s["pattern"]]
        if len(patterns) != len(steps) - 1 or len(patterns) > 1:
            raise ValueError(f"{path} cuts text in ways not known here: `pip install tokenizers` reads it")
        merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
        special = {t["content"]: t["id"] for t in data.get("added_tokens", [])}
        return cls(model["vocab"], merges, *patterns or [GPT2], special, model.get("ignore_merges", False))

    def use_tiktoken(self, name):
        """Let tiktoken do the work; ImportError where it is not installed."""
        import tiktoken
        self.faster = tiktoken.Encoding(name or "own", pat_str=self.pattern, special_tokens=self.special,
                                        mergeable_ranks={t: n for t, n in self.numbers.items()
                                                         if t.decode("latin-1") not in self.special})

    def encode(self, text):
        """The numbers of a text."""
        if self.faster is not None:
            return self.faster.encode(text, allowed_special="all")
        out, at = [], 0
        for found in self.find_special.finditer(text) if self.find_special else ():
            out += self.plain(text[at:found.start()]) + [self.special[found[0]]]
            at = found.end()
        return out + self.plain(text[at:])

    def plain(self, text):
        return [n for piece in self.cut.findall(text) for n in self.piece(piece.encode())]

    def merged(self, piece):
        """The numbers of a piece."""
        if self.whole and piece in self.numbers:
            return (self.numbers[piece],)
        parts = [piece[i:i + 1] for i in range(len(piece))]
        while len(parts) > 1:
            rank, at = min((self.ranks.get(pair, sys.maxsize), i) for i, pair in enumerate(zip(parts, parts[1:])))
            if rank == sys.maxsize:
                break
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return tuple(self.numbers[part] for part in parts)

    def decode(self, numbers):
        """The bytes of numbers: of single ones perhaps a part of a letter only."""
        return b"".join(self.bytes[int(n)] for n in numbers)


def letters():
    """GPT-2's letter for each byte: itself where it is printed, else one from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(others)}


def as_bytes(token, byte):
    return bytes([byte[c] for c in token])


# ---- Python's `re` knows neither \p{L} nor \p{N}, and its \s has four characters more ------------------------
@functools.cache
def characters():
    """The characters of letters and of numbers, as what stands in the brackets of a regular expression."""
    ranges = {"L": [], "N": []}
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))[0]
        if kind in ranges:
            found = ranges[kind]
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return {kind: "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in found)
            for kind, found in ranges.items()}


def translated(pattern):
    r"""A pattern in Python's spelling: ``\p{L}``, ``\p{N}``, ``\s`` and ``\S`` as sets of characters."""
    sets, out, inside = {**characters(), "s": SPACE}, [], False
    for token in re.findall(r"\\p\{[LN]\}|\\.|[\[\]]|[^\\\[\]]+", pattern):
        if token in "[]":
            inside = token == "["
        elif token in (r"\p{L}", r"\p{N}", r"\s"):
            found = sets[token[3] if token[1] == "p" else "s"]
            token = found if inside else f"[{found}]"
        elif token == r"\S":
            token = f"[^{SPACE}]"
        out.append(token)
    return "".join(out)
