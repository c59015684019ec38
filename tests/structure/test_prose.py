"""Plain English in docstrings, comments, messages and pages: refused phrases, and what to write.

A reader who stumbles over a sentence reads it twice. Each phrase below stands for a turn or an
order of words that English does not use, or no longer uses.
"""

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("minitorch", "tests", "docs", "notebooks", "examples", "benchmarks")
SUFFIXES = {".py", ".md", ".cu", ".cuh", ".cpp", ".h"}
# Made from other files: the reference repeats docstrings, student notebooks repeat lessons.
MADE = ("docs/reference/", "notebooks/student/")
# Sentences that PyTorch words so.
PYTORCH = ("capacity of {size(total)} of which {size(free)} is free",)      # CUDA out of memory

WORD = r"""(?![\s#/*"']|[rf]{1,2}["'])"""                # a gap before it was read to its end
COMPARED = r"(?!longer|more|less|fewer|larger|smaller|greater|higher|lower|later|better|worse)"
PHRASES = {
    f"(?:is|are|was|were|be|been|being) no {WORD}{COMPARED}": '"is not a"',
    "of which": 'two sentences, or "whose", "each has", "some are"',
    "anew": '"again", or a verb such as "rebuild", "redraw", "restart"',
    "(?:tell|tells|telling|told) of": '"report", "name", "notify"',
    "be had": '"available"; "without shared memory"',
    "of (?:theirs|ours|mine|yours|hers|one's own)": '"their", "our", "your own"',
    "had better": '"should", or the reason: "... is cheaper"',
    "for who (?!in)": '"for whoever", or leave the person out',
    "whence": '"source:", "from where"',
    "of no account": '"negligible", "unused"',
    "in that (?:it|they)": '"because"',
    "stands? nowhere": '"detached", "not listed"',
}
# A space, or a line break with the marks of a comment or of text in pieces.
GAP = r"""(?:[ \t]|["']?[ \t]*\n[ \t]*(?:#|//|\*|[rf]{0,2}["'])?[ \t]*)+"""
BEGINNINGS = {
    "docstring": r'^[ \t]*r?"""(?:What|Of|Also of|Whether)\b|"Whether [^"\n]*\."',
    "comment": r"^(?![ \t]*(?:#|//)).*\n[ \t]*(?:#|//) (?:What|Of|Whether)\b",
}


def found(pattern, text, flags=re.MULTILINE):
    """The lines of `text`, by number, at which a match ends that is not about what there is."""
    ends = [m.end() for m in re.finditer(pattern, text, flags) if not m["there"]]
    return [text.count("\n", 0, end) + 1 for end in ends]


def phrases_in(text, phrase):
    """The lines that have a phrase; "there is no" and "there must be no" are fine."""
    pattern = rf"(?P<there>\bthere (?:\w+ )?)?\b(?:{phrase})(?:\b|(?<=\s))".replace(" ", GAP)
    return found(pattern, text, re.IGNORECASE)


def beginnings_in(text, kind):
    """The docstrings or comments that begin with half a question."""
    return found(f"(?P<there>)(?:{BEGINNINGS[kind]})", text)


@functools.cache
def texts():
    """{path: text} of all files that have prose, this one excepted."""
    files = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES]
    names = {p.relative_to(ROOT).as_posix(): p for p in [*files, *ROOT.glob("*.md")]}
    names.pop(Path(__file__).relative_to(ROOT).as_posix())
    kept = {name: path for name, path in names.items() if not name.startswith(MADE)}
    return {name: path.read_text(encoding="utf-8") for name, path in sorted(kept.items())}


def listed(search, argument, suffixes=SUFFIXES):
    """The places in all files where `search` finds `argument`, with their lines."""
    for name, text in texts().items():
        if name.endswith(tuple(suffixes)):
            for sentence in PYTORCH:
                text = text.replace(sentence, "")
            for line in search(text, argument):
                yield f"{name}:{line}: {text.splitlines()[line - 1].strip()}"


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_has_a_refused_phrase(phrase):
    places = list(listed(phrases_in, phrase))
    assert not places, "\n".join([f"write {PHRASES[phrase]}:", *places])


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_texts_begin_with_their_subject(kind):
    places = list(listed(beginnings_in, kind, SUFFIXES - {".md"}))
    assert not places, "\n".join([f'begin a {kind} with its subject, or with "True if":', *places])


def test_there_are_texts():
    assert len(texts()) > 1000
    assert all(sentence in "".join(texts().values()) for sentence in PYTORCH)


@pytest.mark.parametrize("text, times", [
    ("what is no list", 1), ("what is no `list`", 1), ("They are no\n# floats", 1),
    ("It is no\n    # longer here, nor is it no\n    \"more\" than that.", 0),
    ('f"the cause is "\n    f"no number"', 1),
    ("there is no list, There must be no\n    gap, it is no longer here, it is no more than 3", 0),
    ("a network of which\nlayers", 1), ("two, one of\n// which is", 1), ("Anew.", 1),
    ("not to be had", 1),
    ("renewed, of one, told off, he had a better one, in that item", 0), ("it tells of calls", 1),
    ("a GPT of one's own, a kernel of ours", 2), ("for who asks", 1), ("for whom", 0)])
def test_phrases_are_found(text, times):
    assert sum(len(phrases_in(text, phrase)) for phrase in PHRASES) == times


@pytest.mark.parametrize("text, times", [
    ('def f():\n    """What it gives."""', 1), ('    """Whether all."""', 1),
    ('"""Also of none."""', 1),
    ('doc="Whether it is one."', 1), ('doc="True if it is one."', 0),
    ('"""True if all."""\n"""Offer."""', 0), ("x = 1\n    # Of both sides.\n", 1),
    ("\n// What follows", 1),
    ("# The first line.\n# Of two lines.", 0), ("x\n# Off by one", 0)])
def test_beginnings_are_found(text, times):
    assert sum(len(beginnings_in(text, kind)) for kind in BEGINNINGS) == times
