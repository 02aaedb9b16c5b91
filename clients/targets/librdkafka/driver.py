"""A driver for librdkafka's share consumer, out of the wheel of confluent-kafka.

Run as a process of its own: it reads commands from standard input, as docs/verify-client.md has
them.
"""

import json
import sys
from typing import TYPE_CHECKING, Any

import confluent_kafka
from confluent_kafka import KafkaException, ShareConsumer

if TYPE_CHECKING:
    from collections.abc import Callable

Values = dict[str, Any]


class Client:
    """The share consumer, and what callbacks said since the last answer."""

    def __init__(self) -> None:
        """Create nothing yet."""
        self.consumer: Any = None
        self.completed: list[Values] = []
        self.throws = False

    def hello(self, _command: Values) -> Values:
        """Describe the client."""
        return {
            "protocol": 1,
            "name": f"librdkafka {confluent_kafka.libversion()[0]}",
            "callbacks": True,
            "throws": True,
            "resubscribes": True,
            "acquire_modes": ["batch_optimized"],
        }

    def open(self, command: Values) -> Values:
        """Create the share consumer."""
        self.consumer = ShareConsumer(
            {
                "bootstrap.servers": command["bootstrap"],
                "group.id": command["group"],
                "share.acknowledgement.mode": command["mode"],
                "max.poll.records": command["max_poll_records"],
                "log_level": 0,
            }
        )
        self.consumer.set_acknowledgement_commit_callback(self._note)
        self.throws = False
        return {}

    def _note(self, offsets: Any, exception: Any) -> None:  # noqa: ANN401 - the wheel has no types
        for partition, known in offsets.items():
            self.completed.append(
                {
                    "topic": partition.topic,
                    "partition": partition.partition,
                    "offsets": sorted(known),
                    "error": _named(exception),
                }
            )
        if self.throws:
            self.throws = False
            raise RuntimeError

    def throw(self, _command: Values) -> Values:
        """Let the next callback throw."""
        self.throws = True
        return {}

    def subscribe(self, command: Values) -> Values:
        """Subscribe."""
        self.consumer.subscribe(command["topics"])
        return {}

    def poll(self, command: Values) -> Values:
        """Poll once; a message that is an error becomes the error of the poll."""
        messages = list(self.consumer.poll(timeout=command["timeout_ms"] / 1000))
        failed = next((message.error() for message in messages if message.error()), None)
        return {
            "error": failed and failed.name(),
            "records": [
                {
                    "topic": message.topic(),
                    "partition": message.partition(),
                    "offset": message.offset(),
                    "delivery_count": message.delivery_count(),
                    "value": message.value().decode(errors="replace"),
                }
                for message in messages
                if not message.error()
            ],
        }

    def acknowledge(self, command: Values) -> Values:
        """Acknowledge a record by its offset."""
        self.consumer.acknowledge_offset(
            command["topic"],
            command["partition"],
            command["offset"],
            confluent_kafka.AcknowledgeType(command["type"]),
        )
        return {}

    def commit(self, command: Values) -> Values:
        """Commit, and tell the result for each partition."""
        results = self.consumer.commit_sync(timeout=command["timeout_ms"] / 1000)
        return {
            "results": [
                {
                    "topic": partition.topic,
                    "partition": partition.partition,
                    "error": _named(error),
                }
                for partition, error in results.items()
            ]
        }

    def commit_async(self, _command: Values) -> Values:
        """Commit without waiting."""
        self.consumer.commit_async()
        return {}

    def close(self, _command: Values) -> Values:
        """Close."""
        self.consumer.close()
        return {}


def _named(exception: Any) -> str | None:  # noqa: ANN401 - an exception of the wheel, or None
    if exception is None:
        return None
    if isinstance(exception, KafkaException):
        return str(exception.args[0].name())
    return f"{type(exception).__name__}: {exception}"


def main() -> None:
    """Answer commands until there are no more."""
    client = Client()
    calls: dict[str, Callable[[Values], Values]] = {
        name: getattr(client, name)
        for name in (
            *("hello", "open", "throw", "subscribe", "poll", "acknowledge"),
            *("commit", "commit_async", "close"),
        )
    }
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "goodbye":
            print("{}", flush=True)  # noqa: T201 - the protocol
            return
        try:
            answer = calls[command["do"]](command)
        except Exception as error:  # noqa: BLE001 - whatever a call raises is its answer
            answer = {"error": _named(error) or "an error"}
        answer["completed"], client.completed = client.completed, []
        print(json.dumps(answer), flush=True)  # noqa: T201 - the protocol


if __name__ == "__main__":
    main()
