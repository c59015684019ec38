"""``torch.hub``: files of weights from addresses, and models that a folder's ``hubconf.py`` makes.

A folder on this machine is read with ``source="local"``. Repositories are not downloaded and run: clone one, look at
it, and name its folder.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlparse

from . import load as load_file
from .datasets.utils import check_integrity, fetch, has_digest_prefix

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")                 # the beginning of a checksum: net-5c106cde.pth
_state: dict = {"dir": None}


def get_dir():
    """The folder where downloaded files are kept: ``$TORCH_HOME/hub``, by default ``~/.cache/torch/hub``."""
    if _state["dir"] is not None:
        return _state["dir"]
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home():
    """The folder above that of `get_dir`: ``$TORCH_HOME``, by default ``~/.cache/torch``."""
    home = os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch"))
    return os.path.expanduser(home)


def __getattr__(name):
    if name == "tqdm":                                     # which programs take from here
        from tqdm import tqdm
        return tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def set_dir(d):
    """Keep downloaded files in another folder."""
    _state["dir"] = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Download a file to the path `dst`.

    hash_prefix: how the SHA-256 checksum of the file begins. RuntimeError if it is another one.
    """
    if os.path.lexists(dst):
        os.remove(dst)
    fetch([url], dst)
    if hash_prefix and not has_digest_prefix(dst, hash_prefix):
        os.remove(dst)
        raise RuntimeError(f'invalid hash value (expected "{hash_prefix}"): {url} is not the file that was meant')


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None,
                             weights_only=True):
    """`load` of a file that is downloaded to `model_dir` if it is not there yet.

    check_hash: the name holds the beginning of the checksum, as in ``resnet18-f37072fd.pth``, and the file must have
    it. weights_only: see `load`. PyTorch reads with False here, which lets a stranger's file run code; here True is
    the default.
    """
    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not check_integrity(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found else None, progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)


# ---- models of a folder --------------------------------------------------------------------------------------
def load(repo_or_dir, model, *args, source="github", trust_repo="check", force_reload=False, verbose=True,
         skip_validation=False, **kwargs):
    """``model(*args, **kwargs)`` of the file ``hubconf.py`` in a folder: ``load(folder, "resnet18", source="local")``.

    The file is a program, and is run. NotImplementedError for ``source="github"``.
    """
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo="check", verbose=True, *, source="github"):       # noqa: A001
    """The names of the models that ``hubconf.py`` of a folder makes; ``source="local"``, as for `load`."""
    module = _hubconf(github, source)
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo="check", *, source="github"):              # noqa: A001
    """The docstring of a model of a folder; ``source="local"``, as for `load`."""
    return _entry(_hubconf(github, source), model).__doc__


def _hubconf(folder, source):
    """The module ``hubconf.py`` of a folder, run."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(f"{folder!r} is not downloaded and run: clone the repository, look at it, and say "
                                  'hub.load("path/of/the/clone", model, source="local")')
    path = Path(folder).expanduser().absolute()
    spec = importlib.util.spec_from_file_location("hubconf", path / "hubconf.py")
    sys.path.insert(0, str(path))
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path))
    missing = [name for name in getattr(module, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return module


def _entry(module, name):
    """A function of a ``hubconf.py``; RuntimeError if there is none of that name."""
    found = getattr(module, name, None)
    if not isinstance(name, str) or not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found
