"""Small models in the published form, with weights drawn by name, for tests of examples/gpt2.py and examples/llama.py.

    python -m tests.programs.language_cases      # records what transformers computes under PyTorch
"""

import json
import os
import subprocess
import sys
import zlib

import numpy as np

from tests import DATA, ROOT

RECORDED = DATA / "recorded" / "language.json"
PROMPT = [5, 90, 41, 7, 7, 63]
COUNT = 12                                                 # tokens that are generated, the likeliest each time
LLAMA = dict(model_type="llama", vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=2,
             num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64, rms_norm_eps=1e-5,
             rope_theta=10000.0, hidden_act="silu", bos_token_id=None, eos_token_id=None)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32, rope_theta=500.0)
CASES = {
    "gpt2": dict(model_type="gpt2", vocab_size=97, n_positions=40, n_embd=48, n_layer=2, n_head=4, bos_token_id=None,
                 layer_norm_epsilon=1e-5, activation_function="gelu_new", eos_token_id=None),
    "llama": LLAMA,
    "llama of groups, stretched, tied": {**LLAMA, "num_key_value_heads": 2, "tie_word_embeddings": True,
                                         "rope_parameters": LLAMA3},
    "llama of wide heads, with biases": {**LLAMA, "num_key_value_heads": 1, "head_dim": 20, "attention_bias": True,
                                         "mlp_bias": True, "rope_scaling": dict(type="linear", factor=2.0)},
}


def shapes(config):
    """{name: shape} of the published weights."""
    if config["model_type"] == "gpt2":
        d, found = config["n_embd"], {}
        for i in range(config["n_layer"]):
            parts = {"ln_1": (d,), "ln_2": (d,), "attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d),
                     "mlp.c_fc": (d, 4 * d), "mlp.c_proj": (4 * d, d)}
            for part, shape in parts.items():
                found |= {f"h.{i}.{part}.weight": shape, f"h.{i}.{part}.bias": shape[-1:]}
        return {"wte.weight": (config["vocab_size"], d), "wpe.weight": (config["n_positions"], d), **found,
                "ln_f.weight": (d,), "ln_f.bias": (d,)}
    d, inner, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
    size = config.get("head_dim", d // heads)
    q, kv = heads * size, config["num_key_value_heads"] * size
    parts = {"self_attn.q_proj": (q, d), "self_attn.k_proj": (kv, d), "self_attn.v_proj": (kv, d),
             "self_attn.o_proj": (d, q),
             "mlp.gate_proj": (inner, d), "mlp.up_proj": (inner, d), "mlp.down_proj": (d, inner)}
    found = {"model.embed_tokens.weight": (config["vocab_size"], d), "model.norm.weight": (d,)}
    for i in range(config["num_hidden_layers"]):
        found |= {f"model.layers.{i}.{name}_layernorm.weight": (d,) for name in ("input", "post_attention")}
        for part, shape in parts.items():
            found[f"model.layers.{i}.{part}.weight"] = shape
            if config.get(f"{part.split('.')[0].removeprefix('self_').replace('attn', 'attention')}_bias"):
                found[f"model.layers.{i}.{part}.bias"] = shape[:1]
    return found if config.get("tie_word_embeddings") else found | {"lm_head.weight": (config["vocab_size"], d)}


def published(config):
    """{name: array} of float32; each is drawn by its name."""
    def drawn(name, shape):
        values = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape).astype(np.float32) * 0.3
        return values + 1 if "norm.weight" in name or "ln_" in name and name.endswith("weight") else values
    return {name: drawn(name, shape) for name, shape in shapes(config).items()}


def write(folder, config, dtype=None, shards=1):
    """A folder as it is published, with one file of weights or several and their index."""
    import minitorch
    from minitorch.serialization import save_file
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    weights = {name: minitorch.from_numpy(x).to(dtype or minitorch.float32) for name, x in published(config).items()}
    names = [f"model-{i}.safetensors" if shards > 1 else "model.safetensors" for i in range(shards)]
    for i, file in enumerate(names):
        save_file({name: x for n, (name, x) in enumerate(weights.items()) if n % shards == i}, folder / file)
    if shards > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps(
            {"weight_map": {name: names[n % shards] for n, name in enumerate(weights)}}))
    return folder


def run(code, *arguments):
    """The JSON that a program prints last, which imports examples/ and runs on minitorch."""
    script = f"import sys\nsys.path.insert(0, {str(ROOT / 'examples')!r})\nfrom minitorch.cli.alias import install\n" \
             f"install()\n{code}"
    done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


COMPUTE = """
import json
import language, torch
from gpt2 import GPT2
from llama import Llama
prompt, count, out = json.loads(sys.argv[1]), int(sys.argv[2]), []
for folder in map(language.Path, sys.argv[3:]):
    kind = GPT2 if "gpt2" in (folder / "config.json").read_text() else Llama
    model = language.load(kind, folder, torch.float32)
    out.append([model(torch.tensor([prompt]))[0].tolist(),
                list(language.generate(model, prompt, count, temperature=0))])
print(json.dumps(out))
"""


def by_transformers(config):
    """Logits (6, 97) of the prompt, and the tokens that follow, of transformers under PyTorch."""
    import torch
    import transformers
    kind = {"gpt2": transformers.GPT2LMHeadModel, "llama": transformers.LlamaForCausalLM}[config["model_type"]]
    model = kind(kind.config_class(**{k: v for k, v in config.items() if k != "model_type"})).eval()
    weights = {("transformer." if config["model_type"] == "gpt2" else "") + name: torch.from_numpy(x)
               for name, x in published(config).items()}
    found = model.load_state_dict(weights, strict=False)
    assert not found.unexpected_keys and set(found.missing_keys) <= {"lm_head.weight"}, found
    prompt = torch.tensor([PROMPT])
    with torch.no_grad():
        logits = model(prompt).logits[0]
        tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=COUNT,
                                pad_token_id=0)
    return logits.tolist(), tokens[0, len(PROMPT):].tolist()


def record():
    found = {}
    for name, config in CASES.items():
        logits, tokens = by_transformers(config)
        found[name] = {"logits": [float(f"{x:.7g}") for x in logits[-1][:16]], "tokens": tokens}
    RECORDED.write_text("{\n" + ",\n".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in found.items()) + "\n}\n")


if __name__ == "__main__":
    record()
