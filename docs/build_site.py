"""Build the documentation site: guides, reference and lessons with their outputs, searchable, in one folder.

    python docs/build_site.py site                        # the lessons run first, some minutes
    python docs/build_site.py site --lessons none         # without lessons: seconds
    python docs/build_site.py site --lessons as-they-are  # lessons without outputs

Needs `pip install -e '.[site]'`. The pages are those of this folder, gathered in a temporary one; mkdocs makes HTML of
them and fails if a link leads nowhere. Nothing on the pages comes from another server. A lesson shows the student's
cells with the outputs of the solved version, so that it shows what will be seen without giving solutions away.
"""

import argparse
import json
import logging
import re
import sys
import tempfile
from pathlib import Path

from minitorch.check.notebook import solved, student, to_ipynb

ROOT = Path(__file__).resolve().parent.parent
GUIDES = {
    "Understand": "architecture kernels kernel_estimates gpu compile native performance differences_from_pytorch "
                  "right_here",
    "Use": "programs vision distributions distributed sparse nested complex forward_mode vmap fx randomness",
    "Teach": "teaching projects browser lesson_gpt",
    "Develop": "mutants",
}
SETTINGS = {
    "site_name": "minitorch", "use_directory_urls": False, "strict": True,
    "theme": {"name": "material", "font": False, "features": ["navigation.indexes", "navigation.sections",
                                                              "search.suggest", "content.code.copy"],
              "palette": [{"media": "(prefers-color-scheme: light)", "scheme": "default",
                           "toggle": {"icon": "material/weather-night", "name": "Dark"}},
                          {"media": "(prefers-color-scheme: dark)", "scheme": "slate",
                           "toggle": {"icon": "material/weather-sunny", "name": "Light"}}]},
    "markdown_extensions": ["tables", "fenced_code", "toc", "admonition", "pymdownx.highlight", "pymdownx.superfences"],
    "validation": {"links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"}},
}


def title_of(text, otherwise):
    """The first heading of a page."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1].replace("`", "") if found else otherwise


def page(text, depth=0, lessons=True):
    """A page of this folder as one of the site: names of other pages are links, files of the repository are names."""
    up = "../" * depth
    text = re.sub(r"(?<!\[)`docs/(\w+)\.md`", lambda m: f"[`{m[1]}`]({up}{m[1]}.md)", text)
    text = re.sub(r"\]\(docs/([^)]+)\)", rf"]({up}\1)", text)
    if lessons:
        text = re.sub(r"\[([^\]]+)\]\((?:\.\./)*notebooks/(\w+)\.py\)", rf"[\1]({up}lessons/\2.ipynb)", text)
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)+((?!docs)[\w./]+)\)", r"\1 (`\2`)", text)


def gather(folder, lessons):
    """Copy the pages into `folder`; the navigation."""
    home = page((ROOT / "README.md").read_text(encoding="utf-8"), lessons=lessons)
    (folder / "index.md").write_text(home, encoding="utf-8")
    navigation = [{"minitorch": "index.md"}]
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".png", ".svg", ".jpg"):
            target = folder / path.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    placed = {name for names in GUIDES.values() for name in names.split()}
    rest = [path.stem for path in sorted((ROOT / "docs").glob("*.md")) if path.stem not in placed]
    for heading, names in GUIDES.items():
        chapter = []
        for name in [*names.split(), *(rest if heading == "Use" else [])]:
            source = ROOT / "docs" / f"{name}.md"
            if source.exists():
                text = source.read_text(encoding="utf-8")
                (folder / source.name).write_text(page(text, lessons=lessons), encoding="utf-8")
                chapter.append({title_of(text, name): source.name})
        navigation.append({heading: chapter})
    return navigation


def gather_reference(folder):
    """Copy the reference; its chapter of the navigation."""
    (folder / "reference").mkdir()
    chapter = []
    for source in sorted((ROOT / "docs" / "reference").glob("*.md"), key=lambda p: (p.stem != "README", p.stem)):
        text = source.read_text(encoding="utf-8")
        name = "index.md" if source.stem == "README" else source.name
        (folder / "reference" / name).write_text(page(text, 1).replace("(README.md", "(index.md"), encoding="utf-8")
        entry = f"reference/{name}"
        chapter.append(entry if name == "index.md" else {title_of(text, source.stem): entry})
    return {"Reference": chapter}


def gather_lessons(folder, run):
    """Write the lessons as notebooks, with outputs if `run`; their chapter of the navigation."""
    (folder / "lessons").mkdir()
    chapter = []
    for source in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py")):
        text = source.read_text(encoding="utf-8")
        book = json.loads(to_ipynb(student(text)))
        if run:
            print(f"running {source.name}", flush=True)
            with_outputs(book, to_ipynb(solved(text)))
        for cell in book["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = with_formulas("".join(cell["source"]))
        (folder / "lessons" / f"{source.stem}.ipynb").write_text(json.dumps(book), encoding="utf-8")
        head = title_of("".join(book["cells"][0]["source"]), source.stem)
        chapter.append({head: f"lessons/{source.stem}.ipynb"})
    return {"Lessons": chapter}


def with_formulas(text):
    """A text whose formulas, between dollars, are MathML, which browsers draw themselves; code is left alone."""
    from latex2mathml.converter import convert

    def formula(found):
        code, display, inline = found.groups()
        return code or convert(display or inline, display="block" if display else "inline")
    return re.sub(r"(```.*?```|`[^`]*`)|\$\$(.+?)\$\$|\$([^$\n]+?)\$", formula, text, flags=re.DOTALL)


def with_outputs(book, answered):
    """Run the solved version in a kernel and put its outputs below the student's cells."""
    import nbformat
    from nbclient import NotebookClient

    done = nbformat.reads(answered, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(done, timeout=900, resources={"metadata": {"path": folder}}).execute()
    for cell, ran in zip(book["cells"], done.cells, strict=True):
        if ran.cell_type == "code":
            cell["outputs"], cell["execution_count"] = ran.outputs, ran.execution_count


def build(target, lessons="run"):
    """Build the site in the folder `target`. lessons: "run", "as-they-are" or "none"."""
    try:
        from mkdocs.commands.build import build as build_pages
        from mkdocs.config import load_config
    except ImportError as error:
        raise SystemExit(f"the site needs its packages: pip install -e '.[site]' ({error})") from None
    logging.basicConfig(level=logging.WARNING, format="%(message)s")        # links that lead nowhere
    with tempfile.TemporaryDirectory() as staging:
        folder = Path(staging) / "pages"
        folder.mkdir()
        navigation = [*gather(folder, lessons != "none"), gather_reference(folder)]
        plugins = ["search"]
        if lessons != "none":
            navigation.insert(1, gather_lessons(folder, lessons == "run"))
            plugins.append({"mkdocs-jupyter": {"include_source": True, "execute": False, "cache": False}})
        config = Path(staging) / "mkdocs.yml"              # JSON is YAML, too
        config.write_text(json.dumps({**SETTINGS, "docs_dir": "pages", "nav": navigation, "plugins": plugins}))
        build_pages(load_config(str(config), site_dir=str(Path(target).resolve())))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lessons", choices=["run", "as-they-are", "none"], default="run")
    args = parser.parse_args()
    build(args.folder, args.lessons)
    print(f"the site begins at {args.folder / 'index.html'}")


if __name__ == "__main__":
    sys.exit(main())
