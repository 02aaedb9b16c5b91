"""What can be met is declared once, with what an implementation must be able to do for it."""

from conformance.cores.target import Capabilities
from conformance.cores.universe import AT_STAKE, Group, lacking, universe
from model.errors import ErrorCode
from model.guards import Difference, Guard

EVERYTHING = Capabilities(
    pending_writes=True,
    write_errors=(ErrorCode.COORDINATOR_NOT_AVAILABLE,),
    validates_requests=True,
    alter_config=True,
    dead_letter_queue=True,
    aborted_transactions=True,
)
NOTHING = Capabilities(("record_limit",), renew=False, advance_log_start=False, take_over=False)

ELSEWHERE = {
    "WRITE_IS_OUTSTANDING": "the kit itself names only writes that are outstanding",
    "PARTITION_IS_INITIALIZED": "the kit itself initializes first",
    "PERSISTED": "the kit itself hands over what is durable",
    "ACQUISITION": "the kit asks for no marks",
    "MARKED": "the kit asks for no marks",
}


def test_each_thing_is_declared_once() -> None:
    names = [item.name for item in universe(EVERYTHING)]
    assert len(names) == len(set(names))
    assert {item.group for item in universe(EVERYTHING)} == set(Group)


def test_every_rule_is_put_at_stake_by_something_that_is_declared() -> None:
    names = {item.name for item in universe(EVERYTHING)}
    assert {name for at_stake in AT_STAKE.values() for name in at_stake} <= names
    rules = {rule.name for rule in (*Guard, *Difference)}
    assert rules == AT_STAKE.keys() | ELSEWHERE.keys()


def test_everything_can_be_met_by_who_can_do_everything() -> None:
    assert [item for item in universe(EVERYTHING) if lacking(item, EVERYTHING)] == []


def test_what_an_implementation_cannot_do_it_lacks() -> None:
    lacks = {item.name: lacking(item, NOTHING) for item in universe(NOTHING)}
    assert lacks["a renewal together with other types"] == "it cannot: renew"
    assert lacks["ACQUIRED → ARCHIVING: its lock expires"] == "it cannot: dead_letter_queue"
    assert lacks["release is answered an error"] == "it cannot: write_errors"
    batches = "a fetch goes past its maximum of records, to the end of a log batch"
    assert lacks[batches] == "it cannot: batch_optimized"
    assert lacks["ACQUIRED → AVAILABLE: its lock expires"] == ""
    both = "a write is answered after the log start offset passed its records"
    assert lacks[both] == "it cannot: pending_writes, advance_log_start"


def test_errors_need_writes_that_can_wait() -> None:
    odd = Capabilities(write_errors=(ErrorCode.COORDINATOR_NOT_AVAILABLE,))
    lacks = {item.name: lacking(item, odd) for item in universe(odd)}
    assert lacks["release is answered COORDINATOR_NOT_AVAILABLE"] == "it cannot: write_errors"
