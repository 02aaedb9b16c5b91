"""How a log of requests is judged, and what is known besides it."""

import attrs

DELIVERY_LIMITS = (2, 25)
"""The least and the greatest delivery count limit that Apache Kafka lets anybody configure."""


@attrs.frozen
class Assumed:
    """Times in ms. None stands for what is not known; then everything that it allows is legal.

    ``slack_ms``: how much later than a request was answered its line may be written, besides the
    stalls that the log shows. ``sweep_ms``: how late a lock may end. ``skew_ms``: how far the
    clocks of two brokers may differ. ``offered_within``: how many fetches may pass over an
    available record. ``quiet_ms``: after how long without a line a part of a broker's log is taken
    to be missing. ``most_findings``: after so many nothing more of a share-partition is judged.
    """

    slack_ms: float = 100
    sweep_ms: float = 2000
    skew_ms: float = 1000
    delivery_limit: int | None = None
    max_record_locks: int | None = None
    compacted: bool | None = None
    offered_within: int = 40
    quiet_ms: float = 60_000
    most_findings: int = 100

    @property
    def limits(self) -> tuple[int, ...]:
        """Return the least and the greatest delivery count limit."""
        if self.delivery_limit is None:
            return DELIVERY_LIMITS
        return (self.delivery_limit,)
