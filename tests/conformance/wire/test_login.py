"""A login proves the password to the broker, and the broker to the client."""

import base64

import pytest

from conformance.target import TargetError
from conformance.wire.cluster import examine
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.login import exchange
from conformance.wire.security import Login, Security
from tests.conformance.wire.fake import faking
from tests.conformance.wire.fake_cluster import Guarded

RFC_7677 = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
)
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


def test_the_example_of_rfc_7677() -> None:
    messages = exchange(Login("SCRAM-SHA-256", "user", "pencil"), "rOprNGfwEbeRWgbNEkqO")
    assert next(messages) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert messages.send(RFC_7677[0]).decode().endswith(f",p={PROOF}")
    with pytest.raises(StopIteration):
        messages.send(RFC_7677[1])


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"r=x,s=W22Z,i=4096",
        b"r=abc,s=W22Z,i=0",
        b"r=abc,s=W22Z,i=9999999999",
        b"r=abc,s=*,i=1",
        b"r=abc,i=1",
        b"\xff\xfe",
    ],
)
def test_a_challenge_that_makes_no_sense_is_refused(challenge: bytes) -> None:
    messages = exchange(Login("SCRAM-SHA-512", "a=b,c", "x"), "abc")
    assert next(messages) == b"n,,n=a=3Db=2Cc,r=abc"
    with pytest.raises(TargetError, match="challenge"):
        messages.send(challenge)


def test_no_text_shows_a_password() -> None:
    assert "secret" not in repr(Login("PLAIN", "me", "secret"))


def logged_in(fake: Guarded, login: Login) -> str:
    with faking(fake) as address:
        bounds = Bounds(seconds=5)
        return examine(
            Address.parse(address), lambda to: Wire(to, bounds, Security(login=login))
        ).id


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_user_logs_in_before_anything_else(mechanism: str) -> None:
    fake = Guarded()
    assert logged_in(fake, Login(mechanism, fake.user, fake.password)) == "c"
    assert fake.asked[:2] == ["sasl_handshake", "sasl_authenticate"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_refused_without_being_shown(mechanism: str) -> None:
    with pytest.raises(TargetError, match="refuses user 'me'") as raised:
        logged_in(Guarded(), Login(mechanism, "me", "wrong"))
    assert "wrong" not in str(raised.value)


def test_a_broker_without_the_mechanism_says_what_it_offers() -> None:
    with pytest.raises(TargetError, match="it offers PLAIN, SCRAM-SHA-256"):
        logged_in(Guarded(), Login("SCRAM-SHA-512", "me", "secret"))


def test_a_broker_that_does_not_know_the_password_is_not_believed() -> None:
    fake = Guarded()
    fake.lies = True
    with pytest.raises(TargetError, match="does not know the password"):
        logged_in(fake, Login("SCRAM-SHA-256", "me", base64.b64decode(b"c2VjcmV0").decode()))
