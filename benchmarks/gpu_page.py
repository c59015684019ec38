"""One page of Markdown from the lines of results of the GPU programme."""

__all__ = ["page"]


def page(lines):
    """The page: what there is of each group, errors in the place of figures that are missing."""
    groups = {}
    for line in lines:
        groups.setdefault(line.get("group"), {})[line.get("item")] = line       # the last one of a name
    about = groups.pop("about", {}).get("about", {})
    out = [f"# {about.get('device', 'an unknown device')}", "",
           f"{about.get('when', '')}, {about.get('versions', about.get('error', ''))}.", ""]
    if about.get("simulated"):
        out += ["**Tried on the simulator: no figure here is a measurement.**", ""]
    failed = [f"{group}, {item}: {line['error']}" for group, items in groups.items() for item, line in items.items()
              if "error" in line]
    count = sum(len(items) for items in groups.values())
    out += [f"{count - len(failed)} of {count} items have a result." + (" The others:" if failed else ""), ""]
    out += [f"- {one(text)}" for text in failed] + [""] * bool(failed)
    for group, items in groups.items():
        good = {name: line for name, line in items.items() if "error" not in line}
        if good:
            out += [f"## {TITLES.get(group, group)}", "", *SECTIONS.get(group, checks)(good), ""]
    return "\n".join(out)


def one(text):
    """A text on one line, without characters that Markdown would read as a table."""
    return " ".join(str(text).split()).replace("|", "/")[:400]


def table(heads, rows):
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads),
            *["| " + " | ".join(map(one, row)) + " |" for row in rows]]


def checks(items):
    """Items that only had to agree."""
    return table(["", "difference / norm", "allowed"], [
        [name, f"{line['error_of_norm']:.1e}" if "error_of_norm" in line else "", line.get("allowed", "")]
        for name, line in items.items()])


def rates(items):
    copy = items.pop("device copy", None)
    out = [f"Device copy: {copy['rate'] / 1e12:.2f} TB/s.", ""] if copy else []
    rows = []
    for name, r in items.items():
        share = f"{r['of_ceiling']:.2f}" if "of_ceiling" in r else ""
        met = "" if not share else "target" if r["of_ceiling"] >= r["target"] else (
            "gate" if r["of_ceiling"] >= r["gate"] else "**missed**")
        rows.append([name, f"{r['seconds'] * 1e6:.1f}", f"{r['rate'] / 1e12:.3f}", r["ceiling"], share,
                     f"{r['gate']} / {r['target']}", met, f"{r['to_pytorch']:.2f}" if "to_pytorch" in r else "",
                     r.get("correct", "")])
    return out + table(["kernel", "us", "T/s", "ceiling", "share of it", "gate / target", "", "time to PyTorch's",
                        "result"], rows)


def seconds(items):
    """Items with the seconds of several contestants."""
    names = list(dict.fromkeys(name for line in items.values() for name in line["seconds"]))
    return table(["us", *names], [[item, *[f"{line['seconds'][n] * 1e6:.1f}" if n in line["seconds"] else ""
                                           for n in names]] for item, line in items.items()])


def conformance(items):
    cases, refused, wrong = sum(line["cases"] for line in items.values()), [], []
    for line in items.values():
        refused += line.get("refused", [])
        wrong += line.get("wrong", [])
    return [f"{cases - len(refused) - len(wrong)} of {cases} micro-kernels agree with NumPy, as on the simulator.", "",
            *[f"- refused: {one(text)}" for text in refused], *[f"- wrong: {one(text)}" for text in wrong[:40]]]


def suite(items):
    return table(["file", "status", "end", "failed"], [
        [name, line["status"], " ".join(line["end"]), "; ".join(line["failed"])] for name, line in items.items()])


TITLES = {"smoke": "Smoke run, against NumPy", "rates": "Rates", "training": "Training steps",
          "launch": "Host time of a call", "graphs": "Graphs against eager steps", "loader": "Pinned memory",
          "conformance": "Conformance of the simulator", "suite": "Tests of kernels"}
SECTIONS = {"rates": rates, "training": seconds, "launch": seconds, "conformance": conformance, "suite": suite}
