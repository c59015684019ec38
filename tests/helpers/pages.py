"""The examples of the pages in docs/, run as doctests."""

import doctest

from tests import ROOT


def run_examples(name):
    """Run the examples of a page; AssertionError if one fails, else how many there are."""
    page = ROOT / "docs" / name
    text = page.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page.name, str(page), 0)
    assert not doctest.DocTestRunner(verbose=False).run(test).failed
    return len(test.examples)
