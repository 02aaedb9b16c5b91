"""The client configuration of Kafka's tools."""

import ssl
from pathlib import Path

import pytest

from conformance.target import TargetError
from conformance.wire.security import Login, Security, read_security

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" '


def of(tmp_path: Path, *lines: str) -> Security:
    path = tmp_path / "client.properties"
    path.write_text("\n".join(lines))
    return read_security(path)


def test_without_a_protocol_nothing_is_secured(tmp_path: Path) -> None:
    assert of(tmp_path, "# a comment", "", "! another", "client.id=x") == Security()


def test_a_login_is_read(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        "security.protocol = SASL_PLAINTEXT",
        "sasl.mechanism:SCRAM-SHA-512",
        f"sasl.jaas.config {JAAS}\\",
        '    password="s\\\\"e=c;ret";',
    )
    assert found == Security(login=Login("SCRAM-SHA-512", "me", 's"e=c;ret'))


def test_tls_checks_the_name_unless_told_otherwise(tmp_path: Path) -> None:
    context = of(tmp_path, "security.protocol=SSL").tls
    assert context
    assert context.check_hostname
    other = of(tmp_path, "security.protocol=SSL", "ssl.endpoint.identification.algorithm=").tls
    assert other
    assert not other.check_hostname
    assert other.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["security.protocol=TLS"], "allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        (["security.protocol=SASL_SSL"], "'GSSAPI'; allowed: PLAIN, SCRAM-SHA-256"),
        (["security.protocol=SSL", "ssl.truststore.location=/t.jks"], "'JKS'; allowed: PEM"),
        (
            ["security.protocol=SSL", "ssl.truststore.type=PEM", "ssl.truststore.location=/none"],
            "no certificates in /none",
        ),
        (
            [
                "security.protocol=SASL_PLAINTEXT",
                "sasl.mechanism=PLAIN",
                f"sasl.jaas.config={JAAS};",
            ],
            "needs a username and a password",
        ),
    ],
)
def test_what_is_not_supported_is_named(tmp_path: Path, lines: list[str], text: str) -> None:
    with pytest.raises(TargetError, match=text):
        of(tmp_path, *lines)


def test_a_large_file_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="more than 1,048,576 bytes"):
        of(tmp_path, "x" * (1 << 20), "y")
