"""How a client connects to a secured listener: TLS, SASL, and the file that Kafka's tools read."""

import re
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from conformance.target import TargetError

_MAX_BYTES = 1 << 20
_SEPARATOR = re.compile(r"\s*[=:]\s*|\s+")
_SETTING = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""")
_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""The SASL mechanisms that this client knows."""


@attrs.frozen
class Login:
    """A user of SASL. ``mechanism``: one of ``MECHANISMS``."""

    mechanism: str
    user: str
    password: str = attrs.field(repr=False)


@attrs.frozen
class Security:
    """What a connection needs beyond TCP; nothing for a listener of PLAINTEXT."""

    tls: ssl.SSLContext | None = None
    login: Login | None = None


def read_security(path: Path) -> Security:
    """Read a client's configuration, as Kafka's tools take with ``--command-config``.

    Raises TargetError for what cannot be read or is not supported; no text quotes a password.
    """
    settings = dict(_properties(_text(path)))
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise _wrong(path, "security.protocol", protocol, ", ".join(_PROTOCOLS))
    return Security(
        _tls(path, settings) if protocol.endswith("SSL") else None,
        _login(path, settings) if protocol.startswith("SASL") else None,
    )


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise TargetError(f"{path} has more than {_MAX_BYTES:,} bytes; it is no configuration")
    return data.decode("utf-8", errors="replace")


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of a Java properties file."""
    for line in re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text).splitlines():
        entry = line.strip()
        if entry and entry[0] not in "#!":
            key, *value = _SEPARATOR.split(entry, maxsplit=1)
            yield key, _unescaped(value[0] if value else "")


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _UNESCAPED.get(match[1], match[1]), text)


def _tls(path: Path, settings: Mapping[str, str]) -> ssl.SSLContext:
    store = settings.get("ssl.truststore.location")
    try:
        context = ssl.create_default_context(
            cafile=_pem(path, settings, "ssl.truststore"),
            cadata=settings.get("ssl.truststore.certificates"),
        )
        if key := _pem(path, settings, "ssl.keystore"):
            context.load_cert_chain(key, password=settings.get("ssl.key.password"))
    except (OSError, ValueError) as error:
        raise TargetError(f"{path}: no certificates in {store or 'it'}: {error}") from None
    if settings.get("ssl.endpoint.identification.algorithm", "https") == "":
        context.check_hostname = False
    return context


def _pem(path: Path, settings: Mapping[str, str], store: str) -> str | None:
    """Return the file of a store, which must be of type PEM."""
    location, kind = settings.get(f"{store}.location"), settings.get(f"{store}.type", "JKS")
    if location is not None and kind.upper() != "PEM":
        allowed = (
            "PEM; `keytool -exportcert -rfc -keystore STORE` writes a certificate of another type"
        )
        raise _wrong(path, f"{store}.type", kind, allowed)
    return location


def _login(path: Path, settings: Mapping[str, str]) -> Login:
    mechanism = settings.get("sasl.mechanism", "GSSAPI")
    if mechanism not in MECHANISMS:
        raise _wrong(path, "sasl.mechanism", mechanism, ", ".join(MECHANISMS))
    jaas = {
        key: _unescaped(quoted) or plain
        for key, quoted, plain in _SETTING.findall(settings.get("sasl.jaas.config", ""))
    }
    if not {"username", "password"} <= jaas.keys():
        raise TargetError(f"{path}: sasl.jaas.config needs a username and a password")
    return Login(mechanism, jaas["username"], jaas["password"])


def _wrong(path: Path, name: str, value: str, allowed: str) -> TargetError:
    return TargetError(f"{path}: {name} is {value[:40]!r}; allowed: {allowed}")
