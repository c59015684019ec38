"""examples/gpt2.py and examples/llama.py give the numbers of transformers under PyTorch, for the same weights."""

import json

import numpy as np
import pytest

from tests.programs.language_cases import CASES, COMPUTE, COUNT, PROMPT, by_transformers, run, write

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")
pytest.importorskip("transformers", reason="has the models")
pytest.importorskip("safetensors", reason="writes the files")


def test_same_logits_and_tokens(tmp_path):
    folders = [write(tmp_path / str(i), config) for i, config in enumerate(CASES.values())]
    for (name, config), (logits, tokens) in zip(CASES.items(), run(COMPUTE, json.dumps(PROMPT), COUNT, *folders)):
        wanted, greedy = by_transformers(config)
        np.testing.assert_allclose(logits, wanted, rtol=1e-5, atol=1e-5, err_msg=name)
        assert tokens == greedy, name


def test_same_product_with_8_bits():
    import minitorch
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 64)).astype("float32"), rng.integers(-127, 128, (32, 64)).astype("int8")
    scales = rng.random(32).astype("float32")
    ours, theirs = [lib._weight_int8pack_mm(*map(lib.from_numpy, (x, w, scales))).numpy() for lib in (minitorch, torch)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)
