from worker import work

from sharespec import ServedBroker


def test_an_order_that_fails_is_tried_again(sharespec_broker: ServedBroker) -> None:
    sharespec_broker.produce("orders", b"tea", b"milk")
    tries = []

    def handle(order: bytes) -> None:
        tries.append(order)
        if tries == [b"tea"]:
            raise ValueError(order)

    work(sharespec_broker.address, handle, lambda: len(tries) == 3)
    assert tries == [b"tea", b"milk", b"tea"]
    assert sharespec_broker.lag("workers", "orders") == 0
