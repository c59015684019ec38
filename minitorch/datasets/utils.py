"""Downloading: from several addresses, resumed where it broke off, checked before it is used."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from .archives import extract_archive

_TIMEOUT = 30.0  # seconds without an answer
_ATTEMPTS = 5  # times to take up a broken connection again, as long as something comes each time
_CHUNK = 1 << 16


def check_integrity(path: str | os.PathLike, md5: str | None = None) -> bool:
    """True if the file exists and, with a checksum given, has it.

    md5: an MD5, SHA-1 or SHA-256 checksum in hexadecimal (told apart by their length).
    """
    return os.path.isfile(path) and (md5 is None or _digest(path, md5) == md5.lower())


def has_digest_prefix(path: str | os.PathLike, prefix: str) -> bool:
    """True if the SHA-256 checksum of a file begins with ``prefix``."""
    return _digest(path, "0" * 64).startswith(prefix.lower())


def _digest(path: str | os.PathLike, model: str) -> str:
    kinds = {32: "md5", 40: "sha1", 64: "sha256"}
    if len(model) not in kinds:
        raise ValueError(f"{model!r} is not an MD5, SHA-1 or SHA-256 checksum: "
                         f"it should have 32, 40 or 64 hex digits")
    digest = hashlib.new(kinds[len(model)], usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def fetch(urls: Sequence[str], path: str | os.PathLike, checksum: str | None = None) -> None:
    """Download to ``path`` from the first of ``urls`` that has the right file; nothing to do if it is there already.

    Received bytes are kept in ``path.part``: a broken download goes on from there, in a later call as well, from
    another address as well (the checksum tells whether the parts fit; without one, each address starts again).
    ``path`` itself only ever holds the complete file.

    Raises RuntimeError where no address would do, with the file to download and where to put it.
    """
    path = Path(path)
    if check_integrity(path, checksum):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    problems = []
    for url in urls:
        if checksum is None:
            part.unlink(missing_ok=True)
        problem = _fetch_from(url, part, checksum)
        if problem is None:
            os.replace(part, path)
            return
        problems.append(f"  {url}: {problem}")
    raise RuntimeError(
        f"{path.name} could not be downloaded:\n" + "\n".join(problems) + "\n"
        f"Without a connection from here, download one of these addresses elsewhere and put the file at "
        f"{path.absolute()}" + (f" (checksum {checksum})." if checksum else ".")
    )


def _fetch_from(url: str, part: Path, checksum: str | None) -> str | None:
    """Complete ``part`` from one address. None when that worked, otherwise what went wrong."""
    from http.client import HTTPException

    for _ in range(_ATTEMPTS):
        before = _size(part)
        try:
            _receive(url, part)
        except (OSError, HTTPException, ValueError) as error:  # URLError and timeouts are OSErrors
            if _size(part) > before:
                continue  # it broke off on the way: go on from there
            return str(error) or type(error).__name__
        if checksum is None or check_integrity(part, checksum):
            return None
        part.unlink()
        if not before:
            return f"the file has another checksum than {checksum}"
        # Otherwise the parts did not fit together: once more from the start.
    return "the connection kept breaking off"


def _receive(url: str, part: Path) -> None:
    """Append to ``part`` the bytes still missing from it, or all of it if the server does not do ranges."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    have = _size(part)
    headers = {"User-Agent": "minitorch"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        response = urlopen(Request(url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and have:  # nothing follows: the part is whole (or of another file, as the checksum tells)
            return
        raise
    with response:
        if response.status != 206:
            have = 0
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
            raise OSError(f"the server did not send the file from byte {have} on")
        length = response.headers.get("Content-Length")
        total = None if length is None else have + int(length)
        with open(part, "ab" if have else "wb") as file, _progress(url, total, have) as bar:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                if bar is not None:
                    bar.update(len(chunk))
    if total is not None and _size(part) < total:
        raise OSError(f"the connection broke off after {_size(part)} of {total} bytes")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _progress(url: str, total: int | None, have: int):
    """A tqdm bar where tqdm is installed, a line of text otherwise."""
    name = url.rsplit("/", 1)[-1]
    try:
        from tqdm.auto import tqdm
    except ImportError:
        print(f"Downloading {url}")
        return nullcontext()
    return tqdm(total=total, initial=have, unit="B", unit_scale=True, unit_divisor=1024, desc=name)


def download_url(
    url: str, root: str | os.PathLike, filename: str | None = None, md5: str | None = None, max_redirect_hops: int = 3
) -> None:
    """torchvision's name for `fetch` with one address; the file goes to ``root/filename``."""
    fetch([url], Path(root, filename or os.path.basename(url)), md5)


def download_and_extract_archive(
    url: str,
    download_root: str | os.PathLike,
    extract_root: str | os.PathLike | None = None,
    filename: str | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """`download_url`, then `extract_archive`."""
    filename = filename or os.path.basename(url)
    download_url(url, download_root, filename, md5)
    extract_archive(Path(download_root, filename), extract_root or download_root, remove_finished)
