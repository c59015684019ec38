"""The figures as Markdown tables."""

from .measure import MODE_TEXTS

COLUMNS = {"two": "wall, 2 threads", "haswell": "OpenBLAS at AVX2", "avx2": "both at AVX2",
           "malloc": "PyTorch with these allocator settings"}
BEGIN, END = "<!-- benchmarks -->", "<!-- end of benchmarks -->"


def markdown(found, rows):
    """All tables of a run, by group; only rows and columns that were measured."""
    m = found["machine"]
    parts = [f"{m['cores']} cores of {m['cpu']}; PyTorch {m['torch']}, NumPy {m['numpy']}, Python {m['python']}; "
             f"{m['date']}. Ratios to PyTorch eager, below 1: faster. Processor time unless it says wall.",
             verdict(found, rows)]
    for group in dict.fromkeys(row.group for row in rows.values()):
        names = [name for name, row in rows.items() if row.group == group and name in found.get("one", {})]
        if names:
            parts.append(f"**{group[0].upper() + group[1:]}**\n\n" + group_table(found, [rows[n] for n in names]))
    if "**missed**" in "".join(parts):
        parts.insert(2, limits(found, rows))
    if "memory" in found:
        parts.append(memory_table(found["memory"], rows))
    if "import" in found or "size" in found:
        parts.append(footprint_table(found))
    if "switches" in found:
        parts.append("**Optimisation switches**, each alone off\n\n" + switch_table(found["switches"], rows))
    return "\n\n".join(parts) + "\n"


def ratio(found, mode, name, library="minitorch", what="cpu"):
    """The ratio as text, empty if it was not measured."""
    value = found.get(mode, {}).get(name, {}).get(library, {}).get(what + "_ratio")
    return "" if value is None else f"{value:.2f}"


def milliseconds(found, name, library):
    value = found["one"][name].get(library, {}).get("cpu")
    return "" if value is None else short(value * 1e3)


def short(x):
    return f"{x:.3g}" if x < 1000 else f"{x:.0f}"


def group_table(found, rows):
    """One group: a row for each workload, with a column for each mode and each further contestant."""
    extra = [mode for mode in COLUMNS if any(ratio(found, mode, r.name) for r in rows)]
    others = [x for x in ("numpy", "jax") if any(x in found["one"][r.name] for r in rows)]
    heads = ["", "ms", "PyTorch, ms", "ratio", "gate / target", "",
             *(COLUMNS[x] for x in extra), *({"numpy": "NumPy floor", "jax": "JAX"}[x] for x in others)]
    out = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    for r in rows:
        reached = ratio(found, "one", r.name)
        cells = [r.title + (f" (x {r.steps})" if r.steps > 1 else ""),
                 milliseconds(found, r.name, "minitorch"), milliseconds(found, r.name, "torch"), reached,
                 "" if r.gate is None else f"{r.gate:g} / {r.target:g}", met(reached, r.gate, r.target)]
        for mode in extra:
            text = ratio(found, mode, r.name, what="wall" if mode == "two" else "cpu")
            if mode == "two" and r.wall:
                text += f" ({r.wall[0]:g} / {r.wall[1]:g}: {met(text, *r.wall)})"
            cells.append(text)
        out.append(cells + [ratio(found, "one", r.name, x) for x in others])
    return table(out)


def met(text, gate, target):
    if gate is None or not text:
        return ""
    return "target" if float(text) <= target else "gate" if float(text) <= gate else "**missed**"


def verdict(found, rows):
    """How many of the gated rows are met."""
    results = [met(ratio(found, "one", name), r.gate, r.target) for name, r in rows.items()
               if r.gate is not None and ratio(found, "one", name)]
    return (f"Of {len(results)} rows with a gate, {len(results) - results.count('**missed**')} meet it and "
            f"{results.count('target')} reach the target.")


PRODUCTS = ("products of matrices: OpenBLAS against MKL (see the rows of products, and the column of the NumPy floor, "
            "which has no framework and is about as slow)")
LIMITS = {
    "article": "calls: four ops, eight places of the graph, an optimiser, of 3 to 30 us each; compiling removes them",
    "mlp": "calls between two products that empty the caches, and twelve passes of Adam",
    "wide_mlp": PRODUCTS,
    "gpt": PRODUCTS,
    "lstm": "fifty products of 32 x 128 by 128 x 512 one after the other, where OpenBLAS is far from its best, and "
            "NumPy's calls between them",
    "embedding/50000x256": "clearing the 51 MB of a dense gradient, half of the time",
    "softmax/1e6/forward": "NumPy has no fused row reductions: five passes over each block",
    "layer_norm/1e6/forward": "NumPy has no fused row reductions: six passes over each block",
    "op/m.reshape(2, 8)": "a base must know its views (weak references), for writes in place",
    "op/m.view(2, 8)": "a base must know its views (weak references), for writes in place",
    "op/m[1]": "a base must know its views (weak references), for writes in place",
    "op/m.transpose(0, 1)": "a base must know its views (weak references), for writes in place",
    "op/a.sum()": "NumPy's reduction alone takes 1.8 us, three times an addition",
    **dict.fromkeys(("lenet", "resnet_block", "resnet20"), "convolutions: oneDNN's direct kernels against products of "
                    "unfolded blocks and element passes of NumPy"),
}


def limits(found, rows):
    """The limit of each row that misses its gate."""
    lines = [f"- {r.title}: {LIMITS.get(name, 'not known')}." for name, r in rows.items()
             if met(ratio(found, "one", name), r.gate, r.target) == "**missed**"]
    return "What limits the rows that miss their gates:\n\n" + "\n".join(lines)


def memory_table(memory, rows):
    """Peak memory of three training steps, beyond what was there before them and in all."""
    out = [["peak memory of training steps", "MiB", "PyTorch, MiB", "ratio", "whole process, MiB", "PyTorch, MiB"],
           ["---"] + ["---:"] * 5]
    for name, by in ((name, memory[name]) for name in rows if name in memory):
        ours, theirs = by.get("minitorch", {}), by.get("torch", {})
        if "growth" in ours and "growth" in theirs:
            out.append([rows[name].title, f"{ours['growth']:.1f}", f"{theirs['growth']:.1f}",
                        f"{ours['growth'] / max(theirs['growth'], 0.1):.2f}", f"{ours['total']:.0f}",
                        f"{theirs['total']:.0f}"])
    return table(out)


def switch_table(switches, rows):
    """The table of times with and without each optimisation switch."""
    out = [["switch", "row", "ms without", "ms with", "ratio"], ["---", "---"] + ["---:"] * 3]
    for switch, by in switches.items():
        what = "wall" if switch == "one thread" else "cpu"  # the time that several threads are to save
        for name, took in by.items():
            out.append([switch if switch != "one thread" else "two threads, wall time", rows[name].title,
                        short(took["without"][what] * 1e3), short(took["with"][what] * 1e3),
                        f"{took['with'][what + '_ratio']:.2f}"])
    return table(out)


def footprint_table(found):
    out = [["", "minitorch", "PyTorch", "ratio", "gate", ""], ["---"] + ["---:"] * 5]
    if "torch" in found.get("import", {}):
        ours, theirs = found["import"]["minitorch"], found["import"]["torch"]
        out.append(["import, processor time", f"{short(ours['cpu'])} s", f"{short(theirs['cpu'])} s",
                    *against_gate(ours["cpu_ratio"], 0.15)])
    if "torch" in found.get("size", {}):
        ours, theirs = found["size"]["minitorch"], found["size"]["torch"]
        out.append(["size on disk with requirements (here NumPy)", f"{short(ours)} MiB", f"{short(theirs)} MiB",
                    *against_gate(ours / theirs, 0.10)])
    return table(out)


def against_gate(value, gate):
    return [f"{value:.2f}", f"{gate:g}", "met" if value <= gate else "**missed**"]


def table(rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows).replace("|  |", "| |")


def line_of(name, took, libraries):
    """One row as it is measured, for the terminal."""
    cells = []
    for library in libraries:
        x = took.get(library, {})
        text = x.get("error", "-")[:22]
        if "cpu" in x:
            text = f"{short(x['cpu'] * 1e3)} ms"
            if library != "torch" and "cpu_ratio" in x:
                text += f" {x['cpu_ratio']:.2f} ({x['wall_ratio']:.2f})"
        cells.append(f"{text:>22s}")
    return f"{name:36s} " + " ".join(cells)


def put_between(path, markers, text):
    """Write a text into a file between two markers; False, and nothing written, where it lacks them."""
    old = path.read_text() if path.exists() else ""
    if not all(marker in old for marker in markers):
        return False
    before, after = old[:old.index(markers[0])], old[old.index(markers[1]):]
    path.write_text(f"{before}{markers[0]}\n{text}{after}")
    return True


def put_between_markers(path, text):
    """Write the tables into a file: between its markers if it has them, as the whole file otherwise."""
    if not put_between(path, (BEGIN, END), text):
        note = "".join(f"- {mode}: {what}\n" for mode, what in MODE_TEXTS.items())
        path.write_text(f"# Benchmarks\n\n{text}\nModes:\n{note}")
