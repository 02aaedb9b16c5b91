"""What Apache Kafka does otherwise, and that nothing differs under the KIPs' own profile."""

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from model.errors import ErrorCode
from model.operations import Acquire
from model.outcome import Choice
from model.profile import Profile
from model.ranges import OffsetRange
from model.states import AcquireMode
from spec import kafka
from spec.record import UNDELIVERED
from spec.window import Window

WINDOW = Window(5, 12)
FETCH = Acquire("m", AcquireMode.BATCH_OPTIMIZED, 1, 1, 10, (OffsetRange(9, 11),))
RENEWED = {7: UNDELIVERED}

ANSWERS: dict[str, tuple[Callable[[Profile], Any], Any, Any]] = {
    "free_gap": (lambda p: kafka.free_gap(p, WINDOW, 8, 10), 0, 2),
    "takes_whole_batch": (lambda p: kafka.takes_whole_batch(p, FETCH.acquire_mode), False, True),
    "may_overshoot": (
        lambda p: kafka.may_overshoot(p, WINDOW, FETCH, (8, 10), [9]), False, True
    ),
    "may_exceed_maximum": (lambda p: kafka.may_exceed_maximum(p, WINDOW, [11]), False, True),
    "kept_renewals": (lambda p: kafka.kept_renewals(p, RENEWED, None), {}, RENEWED),
    "may_write_passed": (lambda p: kafka.may_write_passed(p, Choice(written=True)), False, True),
    "first_free_offset": (lambda p: kafka.first_free_offset(p, 4), 5, 4),
    "absent_state_error": (
        kafka.absent_state_error,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ),
}  # fmt: skip


def test_every_answer_is_tried() -> None:
    assert {name for name, _ in inspect.getmembers(kafka, inspect.isfunction)} == set(ANSWERS)


def test_no_rule_of_a_share_partition_asks_what_kafka_does_in_another_place() -> None:
    """The share coordinator, with its defects, has its conditions itself."""
    quirks = {"renewal_survives_refusal", "batches_may_share_an_offset", "window_may_overshoot",
              "gap_at_the_end_is_free", "window_may_exceed_maximum", "passed_records_are_released",
              "absent_state_is_an_invalid_request"}  # fmt: skip
    asking = {
        path.name
        for path in Path(kafka.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in quirks
    }
    assert asking == {"kafka.py"}
