"""Who is told what clients ask and what they are answered; by default nobody is."""

from types import SimpleNamespace
from typing import Protocol

from serve.asked import Values


class RequestWitness(Protocol):
    """Is told of every request and answer, in the order in which the broker has them.

    ``number`` counts requests over all connections. A request is told before it has any effect,
    an answer before it is sent. ``took_effect`` says that only the answer was lost.
    """

    def asked(
        self, number: int, broker: int, connection: str, api: str, body: SimpleNamespace
    ) -> None:
        """Take note of a request to a broker."""

    def answered(self, number: int, api: str, values: Values) -> None:
        """Take note of an answer."""

    def cut(self, number: int, *, took_effect: bool) -> None:
        """Take note of a connection that the broker cuts in place of an answer."""

    def ended(self, connection: str) -> None:
        """Take note of the end of a connection, and with it of its share sessions."""
