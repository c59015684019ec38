"""The folders of compiled code: nobody else may put anything there, and what is damaged is made again."""

import os
import stat
import subprocess
import sys
import time
import warnings

import pytest

from minitorch.backends import cache
from minitorch.backends.cache import cache_folder, checksum_of, is_kept, keep, scratch_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A cache of its own, and a folder for temporary files."""
    monkeypatch.delenv("MINITORCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    cache.private_folder.cache_clear()
    yield tmp_path / "home"
    cache.private_folder.cache_clear()


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_the_folder_is_closed_to_others(home):
    folder = cache_folder("sim")
    assert folder == home / "minitorch" / "sim" and mode(folder) == mode(folder.parent) == 0o700
    os.chmod(folder, 0o777)
    os.chmod(folder.parent, 0o775)
    assert cache_folder("sim") == folder and mode(folder) == 0o700 and mode(folder.parent) == 0o755


def refused(home):
    """The folder that is taken instead of the usual one, with a warning."""
    with pytest.warns(UserWarning, match="for this process only.*MINITORCH_CACHE"):
        folder = cache_folder("sim")
    assert home not in folder.parents and mode(folder) == 0o700 and os.lstat(folder).st_uid == os.geteuid()
    with warnings.catch_warnings():
        warnings.simplefilter("error")                     # once is enough
        assert cache_folder("sim") == folder
    return folder


def test_a_link_in_its_place_is_not_followed(home, tmp_path):
    (home / "minitorch").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (home / "minitorch" / "sim").symlink_to(tmp_path / "elsewhere")
    refused(home)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_shared_folder_is_not_used(home, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("MINITORCH_CACHE", str(shared))
    assert cache_folder("sim") == shared / "sim"
    os.chmod(shared, 0o777)                                # anybody may rename what is in it
    refused(shared)
    os.chmod(shared, 0o1777)                               # as /tmp is: everybody has his own
    assert cache_folder("sim") == shared / "sim"


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_somebody_else_is_not_used(home):
    folder = cache_folder("sim")
    keep(folder / "a.so", b"code")
    assert is_kept(folder / "a.so")
    os.chown(folder / "a.so", 12345, 12345)
    assert not is_kept(folder / "a.so")
    os.chown(folder, 12345, 12345)
    refused(home)


def test_without_a_home_the_folder_is_not_predictable(tmp_path):
    """Two processes get two folders, which end with them."""
    code = "from minitorch.backends.cache import cache_folder; print(cache_folder('sim'))"
    (tmp_path / "file").touch()
    environment = {**os.environ, "HOME": str(tmp_path / "file"), "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path)}
    environment.pop("MINITORCH_CACHE", None)
    found = [subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True,
                            text=True, check=True).stdout.strip() for _ in range(2)]
    assert found[0] != found[1] and found[0].startswith(str(tmp_path)) and not any(map(os.path.exists, found))


@pytest.mark.parametrize("damage", [
    lambda path: path.write_bytes(path.read_bytes()[:10]), lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"), lambda path: path.chmod(0o666),
    lambda path: path.unlink(), lambda path: checksum_of(path).unlink(),
    lambda path: checksum_of(path).write_bytes(b""),
    lambda path: (path.unlink(), path.symlink_to(path.parent / "other"))])
def test_a_damaged_entry_is_noticed(home, damage):
    path = cache_folder("kernels") / "entry.ptx"
    keep(path.parent / "other", b"text" * 100)
    keep(path, b"text" * 100)
    assert is_kept(path)
    damage(path)
    assert not is_kept(path)
    keep(path, b"text" * 100)
    assert is_kept(path) and mode(path) == 0o600


def test_entries_reach_the_disk_before_their_names(home, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (steps.append("fsync"), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append("replace"), replace(a, b)))
    keep(cache_folder("sim") / "x", b"1")
    assert steps == ["fsync", "replace"] * 2


@pytest.mark.parametrize("work", [lambda folder: scratch_folder(folder).cleanup(),
                                  lambda folder: keep(folder / "a.so", b"code")])
def test_what_killed_builders_leave_is_removed(home, work):
    folder = cache_folder("sim")
    for name in ("build-old", "build-new"):
        (folder / name).mkdir()
        (folder / name / "kernels.cpp").touch()
    for name in ("part-old", "tmpold", "part-new", "a.so"):
        (folder / name).touch()
    long_ago = time.time() - 2 * cache.LEFT_OVER
    for name in ("build-old", "part-old", "tmpold", "a.so"):
        os.utime(folder / name, (long_ago, long_ago))
    work(folder)
    assert sorted(set(os.listdir(folder)) - {"a.so.sha256"}) == ["a.so", "build-new", "part-new"]


def test_a_damaged_library_of_the_simulator_is_built_again(home, monkeypatch):
    """Half of a shared library kills the process that loads it."""
    from minitorch.backends.sim import build
    try:
        build.compiler()
    except build.Missing as error:
        pytest.skip(str(error))
    made = []

    def source():
        made.append(1)
        return "extern \"C\" int f() { return 3; }"
    library = build.compile_library("key", ("-O1",), source, lambda: "{}")
    assert build.compile_library("key", ("-O1",), source, lambda: "{}") == library and len(made) == 1
    whole = library.read_bytes()
    library.write_bytes(whole[:len(whole) // 2])
    assert build.compile_library("key", ("-O1",), source, lambda: "{}") == library and len(made) == 2
    library.with_suffix(".json").write_bytes(b"")
    build.compile_library("key", ("-O1",), source, lambda: "{}")
    assert library.read_bytes() == whole and library.with_suffix(".json").read_bytes() == b"{}" and len(made) == 3
    assert not [name for name in os.listdir(library.parent) if name.startswith(("build-", "part-"))]
