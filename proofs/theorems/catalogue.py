"""All theorems, in one table."""

from collections.abc import Iterator
from itertools import chain

from model.errors import InvalidValueError
from proofs.theorems.acknowledge_theorems import ACKNOWLEDGE_THEOREMS
from proofs.theorems.acquire_guard_theorems import ACQUIRE_GUARD_THEOREMS
from proofs.theorems.acquire_theorems import ACQUIRE_THEOREMS
from proofs.theorems.count_lemmas import COUNT_LEMMAS
from proofs.theorems.counting_theorems import COUNTING_THEOREMS
from proofs.theorems.durable_theorems import DURABLE_THEOREMS
from proofs.theorems.expiry_theorems import EXPIRY_THEOREMS
from proofs.theorems.group_theorems import GROUP_THEOREMS
from proofs.theorems.induction import obligations
from proofs.theorems.offered_theorems import OFFERED_THEOREMS
from proofs.theorems.operation_theorems import OPERATION_THEOREMS
from proofs.theorems.policy_theorems import POLICY_THEOREMS
from proofs.theorems.progress_theorems import PROGRESS_THEOREMS
from proofs.theorems.read_theorems import READ_THEOREMS
from proofs.theorems.record_theorems import RECORD_THEOREMS
from proofs.theorems.recovery_theorems import RECOVERY_THEOREMS
from proofs.theorems.request_theorems import REQUEST_THEOREMS
from proofs.theorems.session_theorems import SESSION_THEOREMS
from proofs.theorems.state_batch_theorems import STATE_BATCH_THEOREMS
from proofs.theorems.takeover_theorems import TAKEOVER_THEOREMS
from proofs.theorems.theorem import Lemma, Theorem
from proofs.theorems.walk_theorems import WALK_LEMMAS, WALK_THEOREMS
from proofs.theorems.window_theorems import WINDOW_THEOREMS
from proofs.theorems.write_theorems import WRITE_THEOREMS

LEMMAS = (*WALK_LEMMAS, *COUNT_LEMMAS)
"""All lemmas that theorems cite, each proved by its base and step."""


def _proofs_of(lemmas: tuple[Lemma, ...]) -> Iterator[Theorem]:
    return chain.from_iterable(map(obligations, lemmas))


THEOREMS: tuple[Theorem, ...] = (
    *RECORD_THEOREMS,
    *_proofs_of(WALK_LEMMAS),
    *WALK_THEOREMS,
    *WINDOW_THEOREMS,
    *OPERATION_THEOREMS,
    *EXPIRY_THEOREMS,
    *ACKNOWLEDGE_THEOREMS,
    *WRITE_THEOREMS,
    *TAKEOVER_THEOREMS,
    *ACQUIRE_THEOREMS,
    *READ_THEOREMS,
    *ACQUIRE_GUARD_THEOREMS,
    *POLICY_THEOREMS,
    *OFFERED_THEOREMS,
    *_proofs_of(COUNT_LEMMAS),
    *COUNTING_THEOREMS,
    *DURABLE_THEOREMS,
    *REQUEST_THEOREMS,
    *STATE_BATCH_THEOREMS,
    *RECOVERY_THEOREMS,
    *PROGRESS_THEOREMS,
    *SESSION_THEOREMS,
    *GROUP_THEOREMS,
)


def theorem_named(name: str) -> Theorem:
    """Return the theorem of this name."""
    return next(theorem for theorem in THEOREMS if theorem.name() == name)


def theorems_about(words: str) -> list[Theorem]:
    """Return the theorems of this property, transition, name or number of docs/properties.md.

    Raises InvalidValueError if there is none.
    """
    matching = [theorem for theorem in THEOREMS if words in _called(theorem)]
    if not matching:
        allowed = (
            "a property, its number or a transition as --list names them, such as owner_iff_held, "
            "2, accept"
        )
        raise InvalidValueError("--only", words, allowed)
    return matching


def _called(theorem: Theorem) -> tuple[str, ...]:
    numbers = map(str, theorem.property.numbers)
    return theorem.property.name, theorem.transition, theorem.name(), *numbers
