"""How the processes of a job trust each other: each end of a connection shows that it knows the
job's secret.

The secret is in the environment, where the launcher puts one that it has drawn. Nothing else that a
peer sends is read before it has answered a challenge, with a message of fixed length, within
`PATIENCE` seconds. The secret itself is never sent; what follows is not encrypted. Without a
secret, a job listens on this machine only.
"""

import contextlib
import errno
import hmac
import os
import secrets
import socket
import threading
import time
import warnings

from .errors import DistNetworkError

__all__: list = []

SECRET = "MINITORCH_SECRET"                                # names the secret of the job
TRUST = "MINITORCH_TRUST_NETWORK"                          # 1: whoever can connect may take part
SIGN = b"minitorch peer 1"
NONCE = PROOF = 32                                         # bytes
PATIENCE = 30.0                                            # seconds for showing the secret
PAUSE = 0.05                                               # seconds until the system is asked again
PASSING = (errno.EAGAIN, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class SecretMissing(DistNetworkError):
    """A job without a secret would be open to others."""


told: set = set()                                          # the warnings that were given


def secret():
    """The secret of this job as bytes, empty where there is none."""
    return os.environ.get(SECRET, "").encode()


def drawn():
    """The secret for processes that this one starts: its own, or a new one.

    None where the network is trusted, or where this process already serves a job without one.
    """
    if secret() or told or os.environ.get(TRUST) == "1":
        return os.environ.get(SECRET, "")
    return secrets.token_hex(32)


# ------------------------------------------------------------------ the challenge
def proof(key, who, nonces):
    return hmac.digest(key, who + nonces, "sha256")


def admit(connection, key):
    """True if a peer that has connected knows `key`; it is told whether this end does, too."""
    own = secrets.token_bytes(NONCE)
    connection.settimeout(PATIENCE)
    write(connection, SIGN + own)
    answer = reader(connection)(NONCE + PROOF)
    nonces = own + answer[:NONCE]
    known = hmac.compare_digest(answer[NONCE:], proof(key, b"connects", nonces))
    write(connection, proof(key, b"listens", nonces) if known else bytes(PROOF))
    connection.settimeout(None)
    return known


def introduce(connection, where):
    """Show the secret to the peer at `where`, which has to show that it knows it, too.

    DistNetworkError if it does not.
    """
    key, own, before = secret(), secrets.token_bytes(NONCE), connection.gettimeout()
    connection.settimeout(PATIENCE)
    read = reader(connection)
    challenge = read(len(SIGN) + NONCE)
    if not challenge.startswith(SIGN):
        raise DistNetworkError(f"what listens at {where} is not a rank or launcher of minitorch")
    nonces = challenge[len(SIGN):] + own
    write(connection, own + proof(key, b"connects", nonces))
    if not hmac.compare_digest(read(PROOF), proof(key, b"listens", nonces)):
        raise DistNetworkError(
            f"the job at {where} has another secret: give all of its ranks and launchers the same "
            f"{SECRET} (here it is {'set' if key else 'not set'})")
    connection.settimeout(before)


# ------------------------------------------------------------------ connections
def listen(host, port, backlog=1024):
    """A socket that listens for peers that know `host`: on this machine only where that means it.

    SecretMissing where the job has none, and that name is not this machine's alone.
    """
    address = address_of(host)
    if not secret():
        if not address and os.environ.get(TRUST) != "1":
            raise SecretMissing(
                f"a job without a secret is served on this machine only, not at {host}: start the "
                f"ranks by `python -m minitorch.distributed.run`, or set {SECRET} to the same "
                f"random text on all nodes, or MASTER_ADDR to 127.0.0.1, or {TRUST}=1 where "
                f"whoever can connect may take part")
        who = "any process of this machine" if address else "whoever can connect"
        warn_once(f"This job has no secret: {who} may take part in it. Set {SECRET} to the same "
                  f"random text for all ranks, or start them by `python -m "
                  f"minitorch.distributed.run`, which does")
    made = socket.socket(socket.AF_INET6 if ":" in (address or host) else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(backlog)
    except BaseException:
        made.close()
        raise
    return made


def address_of(host):
    """The address that a host's name means and others cannot reach; empty where they can."""
    if host == "localhost":
        return "127.0.0.1"
    if host == "::1" or host.startswith("127."):
        return host
    if not secret():                                       # a name that is known here alone
        with contextlib.suppress(OSError):
            found = socket.gethostbyname(host)
            return found if found.startswith("127.") else ""
    return ""


def warn_once(text):
    """Warn of what holds for the whole job, once."""
    if text not in told:
        told.add(text)
        warnings.warn(text, stacklevel=2)


def warn_of_network(nodes):
    """Ranks on several machines talk by our own transport: say whom it is for."""
    warn_once(f"Ranks on {nodes} machines talk over minitorch's own TCP connections, which show "
              f"the job's secret but are not encrypted: they are for small networks that you "
              f"trust. Elsewhere start the ranks by mpiexec (pip install mpi4py mpich), or use "
              f'backend "nccl" for GPUs')


def serve(listening, act, name):
    """Call ``act(connection)`` in a thread of its own for each peer that shows the secret.

    Until `listening` is closed: no fault of a peer or of the system ends the thread that accepts.
    """
    key = secret()

    def greet(connection):
        try:
            known = admit(connection, key)
        except (OSError, EOFError):                        # it is gone, or not ours
            known = False
        if known:
            act(connection)
        else:
            connection.close()

    def accept():
        while listening.fileno() >= 0:
            try:
                connection, _ = listening.accept()
            except (OSError, MemoryError):                 # closed, or out of something: it passes
                time.sleep(PAUSE)
                continue
            try:
                threading.Thread(target=greet, args=(connection,), name=f"{name} peer",
                                 daemon=True).start()
            except (RuntimeError, MemoryError):            # no thread to be given: it may try again
                connection.close()
                time.sleep(PAUSE)
    threading.Thread(target=accept, name=name, daemon=True).start()


def close(listening):
    """Close a socket that listens, and wake the thread that accepts."""
    with contextlib.suppress(OSError):
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def connect(host, port, seconds):
    """A connection to a peer, which begins to listen within `seconds`; both show the secret."""
    end, pause, limit = time.monotonic() + seconds, 0.01, max(1, seconds)
    while True:
        try:
            found = socket.create_connection((host, port), timeout=limit)
            try:
                introduce(found, f"({host}, {port})")
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return found
            except BaseException:
                found.close()
                raise
        except (OSError, EOFError) as error:
            if time.monotonic() + pause > end:
                raise ConnectionError(str(error) or "it has closed the connection") from None
            time.sleep(pause)
            pause = min(2 * pause, 0.5)


# ------------------------------------------------------------------ bytes
def lasting(call, *arguments):
    """``call(*arguments)``, again for a while where it fails by what passes: see `PASSING`."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return call(*arguments)
        except OSError as error:
            if error.errno not in PASSING or time.monotonic() > end:
                raise
            time.sleep(PAUSE)


def reader(connection):
    """``read(n)``: the next n bytes of a connection; EOFError where it has ended."""
    def read(n):
        parts = bytearray()
        while len(parts) < n:
            part = lasting(connection.recv, min(n - len(parts), 1 << 20))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)
    return read


def write(connection, data):
    """Send all of `data`."""
    left = memoryview(data)
    while left:
        left = left[lasting(connection.send, left):]
