"""The client's side of a SASL login: PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677)."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Generator

from conformance.target import TargetError
from conformance.wire.security import Login

_MAX_ROUNDS = 1_000_000
"""More iterations than any broker asks for; a hostile one could keep the client busy for hours."""

Exchange = Generator[bytes, bytes, None]
"""Yields what the client sends and receives the answers; returns once the server is believed."""


def exchange(login: Login, nonce: str | None = None) -> Exchange:
    """Return the messages of a login. Raises TargetError for a server that proves nothing."""
    if login.mechanism == "PLAIN":
        return _plain(login)
    return _scram(login, nonce or secrets.token_urlsafe(24))


def _plain(login: Login) -> Exchange:
    yield b"\0".join((b"", login.user.encode(), login.password.encode()))


def _scram(login: Login, nonce: str) -> Exchange:
    user = login.user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={user},r={nonce}"
    challenge = (yield f"n,,{first}".encode()).decode("utf-8", errors="replace")
    server_nonce, salt, rounds = _challenge(challenge, nonce)
    digest = "sha" + login.mechanism.rpartition("-")[2]
    salted = hashlib.pbkdf2_hmac(digest, login.password.encode(), salt, rounds)
    final = f"c=biws,r={server_nonce}"
    signed = f"{first},{challenge},{final}".encode()
    client_key = hmac.digest(salted, b"Client Key", digest)
    stored = hashlib.new(digest, client_key).digest()
    signature = hmac.digest(stored, signed, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    verdict = yield f"{final},p={base64.b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
    if not hmac.compare_digest(verdict, b"v=" + base64.b64encode(expected)):
        raise TargetError("the broker does not know the password that it accepted")


def _challenge(text: str, nonce: str) -> tuple[str, bytes, int]:
    """Return the nonce, the salt and the iterations of a server's first message."""
    parts = dict(part.split("=", 1) for part in text.split(",") if part[1:2] == "=")
    try:
        challenge = parts["r"], base64.b64decode(parts["s"], validate=True), int(parts["i"])
    except (KeyError, ValueError):
        raise TargetError("the broker's SCRAM challenge cannot be read") from None
    if not challenge[0].startswith(nonce) or not 0 < challenge[2] <= _MAX_ROUNDS:
        raise TargetError("the broker's SCRAM challenge is not one to answer")
    return challenge
