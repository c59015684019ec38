"""A cache of compiled code of its own, for tests of the toolchain."""

import pytest

from minitorch.backends import cache
from minitorch.backends.native import library, toolchain


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A cache of its own, and nothing remembered."""
    def forget():
        library.built.cache_clear()
        for kept in (library.jobs, library.silent, library.announced, cache.elsewhere):
            kept.clear()
        toolchain.found.cache_clear()
        cache.private_folder.cache_clear()
        cache.remove_left_overs.cache_clear()
    monkeypatch.setenv("MINITORCH_CACHE", str(tmp_path / "home"))
    monkeypatch.delenv("MINITORCH_NATIVE", raising=False)
    monkeypatch.delenv("CC", raising=False)
    forget()
    yield tmp_path / "home"
    forget()
