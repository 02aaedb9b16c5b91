"""Brokers that alter records now and then, or are gone after some requests."""

import attrs

from conformance.target import TargetError
from conformance.wire.target import Exchange, GroupTopic
from model.share_messages import ShareRequest
from tests.doubles.spec_broker import SpecBroker


class SlippingBroker(SpecBroker):
    """A broker that alters records in so many of its responses, and never again."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        exchange = super().ask(place, request, connection)
        read = tuple((at, (some[0].first,)) for at, some in exchange.read if some)
        if not (read and self.left):
            return exchange
        self.left -= 1
        return attrs.evolve(exchange, altered=read)


class DyingBroker(SpecBroker):
    """A broker that is gone after so many requests, and then removes nothing any more."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        self.left -= 1
        if self.left < 0:
            raise TargetError("the connection is closed")
        return super().ask(place, request, connection)

    def finish(self, place: GroupTopic) -> None:
        if self.left < 0:
            raise TargetError("the topic cannot be removed")
        super().finish(place)
