"""Links of the documentation lead somewhere, and the site is built of it without a warning."""

import importlib.util
import re
import subprocess
import sys

import pytest

from tests import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def outside_code(text):
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(text):
    """The names of a page's headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", outside_code(text)):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), f"{path.name} links to {link}"
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{path.name} links to {link}"
    for name in re.findall(r"`(docs/[\w/]+\.(?:md|py))`", text):
        assert (ROOT / name).exists(), f"{path.name} names {name}"


def test_the_site_is_built(tmp_path):
    for module in ("mkdocs", "material"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install -e '.[site]'")
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "build_site.py"), str(tmp_path / "site"), "--lessons",
                           "none"], capture_output=True, text=True, timeout=300, cwd=ROOT,
                          env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {p.name for p in (tmp_path / "site").glob("*.html")}
    assert {"index.html", "architecture.html", "teaching.html", "programs.html"} <= pages
    home = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=["']https?://[^"']*\.(?:js|css|woff2?)""", home), "from another server"
    assert (tmp_path / "site" / "search" / "search_index.json").stat().st_size > 100_000


def test_the_pictures_of_the_readme_are_those_that_are_drawn(tmp_path):
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import build_pictures
    finally:
        sys.path.remove(str(ROOT / "docs"))
    build_pictures.draw(tmp_path)
    for path in tmp_path.glob("*.svg"):
        words, committed = (re.findall(r">([^<>\n]+)<", p.read_text(encoding="utf-8"))
                            for p in (path, build_pictures.PICTURES / path.name))
        assert words and words == committed, f"{path.name} is out of date: python docs/build_pictures.py"
    assert (build_pictures.PICTURES / "demo.png").read_bytes().startswith(b"\x89PNG")
