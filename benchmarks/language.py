"""Tokens per second of examples/gpt2.py at GPT-2-small's size: ``python -m benchmarks.language [--seconds N]``.

Writes benchmarks/results/language.json: for weights of float32, of bfloat16 as they are stored, and of 8 bits, the
tokens per second and the ratio of processor time to PyTorch's with float32, one thread each. The weights are random,
which takes as long. All take turns (see `measure.py`): only ratios are exact.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

from minitorch.backends.native.toolchain import compiler

from .measure import Contestant, duel

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_name("results") / "language.json"
CONTESTANTS = ("torch writes float32", "minitorch writes float32", "minitorch writes float32 native",
               "minitorch writes bfloat16", "minitorch writes int8", "minitorch writes int8 native",
               "torch writes bfloat16", "torch writes int8")
PROMPT = 64


def workloads(library, threads):
    """{row: function that makes the workload}: a token after 64 others."""
    name, _, how = library.partition(" writes ")
    if name == "minitorch":
        from minitorch.cli.alias import install
        install()
    import torch
    torch.set_num_threads(threads)
    sys.path.insert(0, str(ROOT / "examples"))
    gpt2, language = importlib.import_module("gpt2"), importlib.import_module("language")

    def make():
        model = gpt2.GPT2(gpt2.Config()).requires_grad_(False).eval()
        if "int8" in how:
            language.quantise(model)
        if name == "minitorch":
            torch.backends.native.enable("native" in how)
        if "bfloat16" in how:
            model = model.bfloat16()
        cache, numbers = model.cache(1, PROMPT + 1), torch.arange(PROMPT + 1)[None]
        with torch.no_grad():
            model(numbers[:, :PROMPT], cache)

        def step():
            cache.at = PROMPT
            with torch.no_grad():
                return model(numbers[:, PROMPT:], cache)[:, -1].argmax().item()
        return step
    return {"token": make}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="of turns (default: 30)")
    args = parser.parse_args()
    players, found = [Contestant(library, "one") for library in CONTESTANTS], {}
    for library, times in duel(players, "token", args.seconds, turn=0.1, other=CONTESTANTS[0]).items():
        if "error" in times:
            raise RuntimeError(f"{library}: {times['error']}")
        found[library] = {"tokens_per_second": round(1 / times["cpu"], 1), "ratio": round(times["cpu_ratio"], 3)}
        print(f"{library:36} {1 / times['cpu']:8.1f} tokens per second, ratio {times['cpu_ratio']:.3f}", flush=True)
    RESULTS.write_text(json.dumps({"machine": compiler()[1].split(" flags")[0], "token": found}, indent=1) + "\n")
    for player in players:
        player.close()


if __name__ == "__main__":
    main()
