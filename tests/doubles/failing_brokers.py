"""Brokers that alter records now and then, throttle, or are gone after some requests."""

import attrs

from conformance.target import TargetError
from conformance.wire.target import Exchange, GroupTopic
from model.share_messages import ShareFetch, ShareRequest
from tests.doubles.spec_broker import CAPABILITIES, SpecBroker


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


class ThrottlingBroker(SpecBroker):
    """A broker whose throttled responses have no records: it acquires none then, or ``loses``."""

    def __init__(self, *, loses: bool = False) -> None:
        super().__init__(can=attrs.evolve(CAPABILITIES, throttles=True))
        self.throttled, self._loses = False, loses

    def throttle(self, *, on: bool) -> float:
        self.throttled = on
        return super().throttle(on=on)

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        if not (self.throttled and isinstance(request, ShareFetch)):
            return super().ask(place, request, connection)
        asked = request if self._loses else attrs.evolve(request, max_records=0)
        exchange = super().ask(place, asked, connection)
        response = attrs.evolve(exchange.response, partitions=())
        return attrs.evolve(exchange, response=response, read=(), throttle_ms=1000)


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
