"""Names of violations: guards of a choice, and kinds of difference from a recording.

The value of each is its sentence, which ``rules.toml`` has with what it rests on.
"""

from enum import Enum, auto

from model.rules import RULES, RuleKind

_SENTENCES = {
    name: rule.sentence
    for kind in (RuleKind.GUARD, RuleKind.COORDINATOR, RuleKind.DIFFERENCE)
    for name, rule in RULES[kind].items()
}


class _RuleName(Enum):
    """The name of a rule; the value is its sentence."""

    _value_: str

    @staticmethod
    def _generate_next_value_(name: str, _start: int, _count: int, _last: list[str]) -> str:
        return _SENTENCES[name]


class Guard(_RuleName):
    """A condition that every implementation's choice must meet; the value is its sentence."""

    ONLY_AVAILABLE_IS_ACQUIRED = auto()
    NO_ACQUIRE_DURING_WRITE = auto()
    ONLY_READ_IS_ACQUIRED = auto()
    NO_RECORD_LOST = auto()
    READ_IS_OF_THE_LOG = auto()
    WITHIN_READABLE_LOG = auto()
    NOT_BELOW_LOG_START = auto()
    WITHIN_RECORD_LIMIT = auto()
    WITHIN_MAXIMUM_AND_ONE_BATCH = auto()
    WITHIN_WINDOW_LIMIT = auto()
    NO_RECORD_SKIPPED = auto()
    CAN_ACQUIRE = auto()
    RECORD_IS_OFFERED = auto()
    FINISHED_LEAVES_FULL_WINDOW = auto()
    START_NEVER_GOES_BACK = auto()
    START_STOPS_AT_UNFINISHED = auto()
    LOCK_LASTS_ITS_DURATION = auto()
    LOCK_ENDS_ON_TIME = auto()
    ACKNOWLEDGEMENT_JUDGED = auto()
    ACKNOWLEDGED_WAS_DELIVERED = auto()
    DEAD_LETTER_IS_ARCHIVING = auto()
    ONLY_COMMITTED_IS_ASKED_FOR = auto()
    ANSWER_COMES = auto()
    WRITE_IS_OUTSTANDING = auto()
    CHECKPOINT_IS_THE_STATE = auto()
    PARTITION_IS_INITIALIZED = auto()


class CoordinatorGuard(_RuleName):
    """A condition that every share coordinator must meet."""

    SNAPSHOT_ON_TIME = auto()
    PRUNED_IS_REDUNDANT = auto()
    PRUNING_GOES_ON = auto()
    IDLE_GETS_SNAPSHOT = auto()
    STATE_IS_ANSWERED = auto()
    STATE_IS_WRITTEN = auto()
    COORDINATOR_IS_FOUND = auto()


class Difference(_RuleName):
    """How a recorded event differs from what was expected; the value is its sentence."""

    STATUS = auto()
    ACQUIRED = auto()
    ACQUISITION = auto()
    MARKED = auto()
    WRITTEN_STATE = auto()
    WRITTEN_START_OFFSET = auto()
    WRITTEN_DELIVERY_COMPLETE_COUNT = auto()
    EXCEPTION = auto()
    COMPLETED = auto()
    PERSISTED = auto()
    START_OFFSET = auto()
    END_OFFSET = auto()
    DELIVERY_COMPLETE_COUNT = auto()
    RECORDS = auto()
