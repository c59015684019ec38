"""The reference pages are what the op table says."""

import importlib.util

from tests import ROOT


def test_reference_pages_are_current():
    spec = importlib.util.spec_from_file_location("build_reference", ROOT / "docs" / "build_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, text in module.pages().items():
        assert (ROOT / "docs" / "reference" / name).read_text() == text, "run: python docs/build_reference.py"
