"""examples/gpt2.py and examples/llama.py: published weights read, texts continued, weights of 8 bits, byte pairs.

The numbers of transformers for the same weights under PyTorch are recorded: see `language_cases`.
"""

import importlib.util
import json
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from tests.programs.language_cases import CASES, COMPUTE, COUNT, PROMPT, RECORDED, ROOT, run, write

spec = importlib.util.spec_from_file_location("bytepairs", ROOT / "examples" / "bytepairs.py")
bytepairs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bytepairs)


# ---- models ------------------------------------------------------------------------------------------------
def test_published_weights_give_the_recorded_logits_and_tokens(tmp_path):
    """In one file and in three, of float32."""
    pytest.importorskip("safetensors", reason="writes the files")
    recorded = json.loads(RECORDED.read_text())
    folders = [write(tmp_path / str(i), config, shards=1 + 2 * (i % 2)) for i, config in enumerate(CASES.values())]
    found = run(COMPUTE, json.dumps(PROMPT), COUNT, *folders)
    assert list(recorded) == list(CASES)
    for (name, wanted), (logits, tokens) in zip(recorded.items(), found):
        np.testing.assert_allclose(logits[-1][:16], wanted["logits"], rtol=1e-5, atol=1e-5, err_msg=name)
        assert tokens == wanted["tokens"], name


PROPERTIES = r"""
import json, types
import language, torch
from gpt2 import GPT2
from llama import Llama
torch.manual_seed(0)
folders = [language.Path(x) for x in sys.argv[1:]]
with torch.no_grad():
    for kind, folder in zip((GPT2, Llama), folders):
        stored, wide = language.load(kind, folder), language.load(kind, folder, torch.float32)
        assert next(stored.parameters()).dtype == torch.bfloat16 and next(wide.parameters()).dtype == torch.float32
        numbers = torch.randint(0, 97, (2, 9))
        whole = wide(numbers)
        assert torch.allclose(stored(numbers).float(), whole, atol=0.3), (stored(numbers) - whole).abs().max()
        cache = wide.cache(2, 9)
        parts = [wide(numbers[:, :4], cache), wide(numbers[:, 4:5], cache), wide(numbers[:, 5:], cache)]
        assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-4)
        try:
            wide(numbers[:, :1], cache)
        except ValueError as error:
            assert "9 places" in str(error)
        else:
            raise AssertionError("the cache has grown")
        assert len(list(language.generate(wide, [1] * (wide.context - 3), 10))) == 3
        stop = [next(language.generate(wide, [5], 1, temperature=0))]
        assert list(language.generate(wide, [5], 4, stop, temperature=0)) == []
        errors = language.quantise(wide)
        assert len(errors) > 8 and 0 < max(errors.values()) < 0.02
        assert float((wide(numbers) - whole).norm() / whole.norm()) < 0.05
logits = torch.log(torch.tensor([[0.5, 0.25, 0.15, 0.1]])).repeat(400, 1)
for options, allowed in ((dict(top_k=2), {0, 1}), (dict(top_p=0.6), {0, 1}), (dict(top_p=0.4), {0}),
                         (dict(temperature=0), {0}), (dict(), {0, 1, 2, 3}), (dict(top_k=3, top_p=0.8), {0, 1})):
    found = language.choose(logits, **options)
    assert set(found.flatten().tolist()) == allowed, (options, allowed)
counts = torch.bincount(language.choose(logits, temperature=0.5)[:, 0], minlength=4) / 400
assert torch.allclose(counts, torch.tensor([0.25, 0.0625, 0.0225, 0.01]) / 0.345, atol=0.08)
pieces = []
out = types.SimpleNamespace(write=pieces.append, flush=lambda: None)
text = "a\u00e9 \u20ac\U0001f642b"
assert language.stream(iter(text.encode()), language.Bytes(), b"\xe2\x82", out)[0] == len(text.encode())
assert "".join(pieces) == text + "\n" and pieces[:3] == ["a", "\u00e9", " "]
model = GPT2(GPT2.config_of(GPT2.SMALL))
model.lm_head.weight.sum().backward()
assert model.wte.weight.grad is not None

folder = folders[0]
config = json.loads((folder / "config.json").read_text())


def refused(kind, error, words, **changes):
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    try:
        language.load(kind, folder)
    except error as found:
        assert words in str(found), found
    else:
        raise AssertionError(words)


refused(GPT2, ValueError, "activation_function", activation_function="relu")
refused(GPT2, ValueError, "config.json says", n_embd=44)
refused(GPT2, ValueError, "lacks", n_layer=3)
refused(Llama, ValueError, "model_type")
index = folder / "model.safetensors.index.json"
index.write_text(json.dumps({"weight_map": {"a": "../x.safetensors"}}))
refused(GPT2, ValueError, "outside")
index.write_text(json.dumps({"weight_map": {"a": "absent.safetensors"}}))
refused(GPT2, FileNotFoundError, "absent.safetensors")
print("null")
"""


def test_16_bits_caches_8_bits_draws_and_folders_that_do_not_fit(tmp_path):
    pytest.importorskip("safetensors", reason="writes the files")
    pytest.importorskip("ml_dtypes", reason="bfloat16")
    kinds = ("gpt2", "llama of groups, stretched, tied")
    run(PROPERTIES, *[write(tmp_path / str(i), CASES[name], minitorch.bfloat16, 1 + i) for i, name in enumerate(kinds)])


def test_without_any_file():
    command = [sys.executable, "-m", "minitorch", str(ROOT / "examples" / "llama.py"), "--random", "--int8"]
    done = subprocess.run([*command, "--count", "5"], capture_output=True, cwd=ROOT)
    out = done.stdout.decode(errors="replace")
    assert done.returncode == 0 and "tokens per second" in out and "int8: weights of" in out, done.stderr.decode()


# ---- products ----------------------------------------------------------------------------------------------
def test_products_with_weights_of_8_bits():
    x, scales = minitorch.randn(3, 40, requires_grad=True), minitorch.rand(7, requires_grad=True)
    weight = minitorch.randint(-127, 128, (7, 40), dtype=minitorch.int8)
    found = minitorch._weight_int8pack_mm(x, weight, scales)
    wanted = x @ (weight * scales[:, None]).T
    assert minitorch.allclose(found, wanted, rtol=1e-4, atol=1e-4)
    for ours, theirs in zip(*[minitorch.autograd.grad(y.sum(), (x, scales)) for y in (found, wanted)]):
        assert minitorch.allclose(ours, theirs, rtol=1e-4, atol=1e-3)
    for a, b, c in ((x, weight.float(), scales), (x, weight, scales[:3]), (x[:, :3], weight, scales),
                    (x, weight, scales.double())):
        with pytest.raises(RuntimeError, match="_weight_int8pack_mm: expected"):
            minitorch._weight_int8pack_mm(a, b, c)


def test_files_are_mapped(tmp_path):
    pytest.importorskip("safetensors", reason="writes the files")
    weights = {"a": minitorch.arange(6.0).reshape(2, 3), "odd": minitorch.ones(3, dtype=minitorch.uint8),
               "b": minitorch.tensor([True, False]), "none": minitorch.zeros(0, 2)}
    path = tmp_path / "x.safetensors"
    minitorch.serialization.save_file(weights, path)
    found = minitorch.serialization.load_file(path, mmap=True)
    assert all(found[name].equal(x) and found[name].dtype == x.dtype for name, x in weights.items())
    found["a"][0] = 9
    assert minitorch.load(path, mmap=True)["a"].equal(weights["a"])
    path.write_bytes(b"")
    with pytest.raises(RuntimeError, match="not a whole safetensors file"):
        minitorch.serialization.load_file(path, mmap=True)


# ---- byte pairs --------------------------------------------------------------------------------------------
TEXT = "the cat sat on the mat, the hat that the cat had; then that's the end of the tale. " * 3


def trained(text, count):
    """Merges of byte pairs, as they are learned: the pair that is there most often becomes a token."""
    letter = bytepairs.letters()
    words = [[letter[b] for b in piece.encode()]
             for piece in bytepairs.re.findall(bytepairs.translated(bytepairs.GPT2), text)]
    merges = []
    for _ in range(count):
        pairs = [pair for word in words for pair in zip(word, word[1:])]
        if not pairs:
            break
        best = max(sorted(set(pairs)), key=pairs.count)
        merges.append(best)
        for word in words:
            for i in range(len(word) - 2, -1, -1):
                if tuple(word[i:i + 2]) == best:
                    word[i:i + 2] = ["".join(best)]
    tokens = [*letter.values(), *dict.fromkeys("".join(m) for m in merges), "<|endoftext|>"]
    return {token: n for n, token in enumerate(tokens)}, merges


VOCABULARY, MERGES = trained(TEXT, 40)
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")


@pytest.fixture(params=["lists", "file", "file of llama"])
def folder(request, tmp_path):
    """A folder with a tokenizer's files."""
    if request.param == "lists":
        (tmp_path / "vocab.json").write_text(json.dumps(VOCABULARY))
        (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(f"{a} {b}" for a, b in MERGES) + "\n")
        return tmp_path
    split = {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": request.param == "file"}
    steps = level if request.param == "file" else {"type": "Sequence", "pretokenizers": [split, level]}
    special = dict(id=VOCABULARY["<|endoftext|>"], content="<|endoftext|>", single_word=False, lstrip=False,
                   rstrip=False, normalized=False, special=True)
    (tmp_path / "tokenizer.json").write_text(json.dumps(dict(
        version="1.0", truncation=None, padding=None, added_tokens=[special], normalizer=None, pre_tokenizer=steps,
        post_processor=None, decoder=level,
        model=dict(type="BPE", vocab={k: v for k, v in VOCABULARY.items() if k != "<|endoftext|>"}, ignore_merges=True,
                   merges=[list(m) for m in MERGES]))))
    return tmp_path


def samples():
    rng = random.Random(0)
    kinds = (lambda: rng.randrange(32, 127), lambda: rng.randrange(1, 0x500), lambda: rng.randrange(0x2000, 0x3100),
             lambda: rng.randrange(0x10000, 0x1f700))
    return [TEXT, "", "I'LL 12345 \u00bd \u2003 \x1c a\r\n\r\n  b  ", "the<|endoftext|>cat"] + [
        "".join(chr(rng.choice(kinds)()) for _ in range(60)) for _ in range(12)]


def test_own_byte_pairs_are_those_of_the_packages(folder):
    own = bytepairs.tokenizer_of(folder, ())
    assert isinstance(own, bytepairs.BytePairs) and own.special == {"<|endoftext|>": VOCABULARY["<|endoftext|>"]}
    for package in ("tokenizers", "tiktoken"):
        if importlib.util.find_spec(package):
            other = bytepairs.tokenizer_of(folder, (package,))
            for text in samples():
                assert other.encode(text) == own.encode(text), (package, text)
                assert other.decode(own.encode(text)).decode() == text


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.text(max_size=40))
def test_text_comes_back(text):
    own = bytepairs.BytePairs(VOCABULARY, MERGES)
    assert own.decode(own.encode(text)).decode() == text


def test_merges_come_in_their_order():
    letter = bytepairs.letters()
    vocabulary = {token: n for n, token in enumerate([*letter.values(), "ab", "bc", "abc", "\u0120a"])}
    def tokens(text, merges):
        own = bytepairs.BytePairs(vocabulary, merges)
        return [own.bytes[n] for n in own.encode(text)]
    assert tokens("abc", [("a", "b"), ("b", "c")]) == [b"ab", b"c"]
    assert tokens("abc", [("b", "c"), ("a", "b")]) == [b"a", b"bc"]
    assert tokens("abcabc", [("b", "c"), ("a", "bc")]) == [b"abc", b"abc"]
    assert tokens("b a", [("\u0120", "a")]) == [b"b", b" a"]


def test_other_tokenizers_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="tokenizer.json"):
        bytepairs.tokenizer_of(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(dict(model=dict(type="BPE", vocab={}, merges=[]),
                                                             normalizer=dict(type="Prepend", prepend="_"))))
    with pytest.raises(ValueError, match="pip install tokenizers"):
        bytepairs.tokenizer_of(tmp_path, ())
