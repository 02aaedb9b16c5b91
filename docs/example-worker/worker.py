"""A worker of a share group: it accepts an order that it has handled, and releases any other."""

from collections.abc import Callable

from confluent_kafka import AcknowledgeType, ShareConsumer


def work(bootstrap: str, handle: Callable[[bytes], None], is_over: Callable[[], bool]) -> None:
    """Handle orders until it is over; one whose handling raises ValueError is delivered again."""
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": "workers",
        "share.acknowledgement.mode": "explicit",
    }
    with ShareConsumer(config) as consumer:
        consumer.subscribe(["orders"])
        while not is_over():
            for message in consumer.poll(timeout=1):
                try:
                    handle(message.value() or b"")
                except ValueError:
                    consumer.acknowledge(message, AcknowledgeType.RELEASE)
                else:
                    consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            consumer.commit_sync()
