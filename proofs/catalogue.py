"""All theorems, in one table."""

from collections.abc import Iterator
from itertools import chain

from model.errors import InvalidValueError
from proofs.acquire_theorems import ACQUIRE_THEOREMS
from proofs.complete_count_theorems import COMPLETE_COUNT_THEOREMS
from proofs.coordinator_theorems import COORDINATOR_THEOREMS
from proofs.count_lemmas import COUNT_LEMMAS
from proofs.counting_theorems import COUNTING_THEOREMS
from proofs.durable_theorems import DURABLE_THEOREMS
from proofs.group_theorems import GROUP_THEOREMS
from proofs.induction import Lemma, obligations
from proofs.progress_theorems import PROGRESS_THEOREMS
from proofs.record_theorems import RECORD_THEOREMS
from proofs.recovery_theorems import RECOVERY_THEOREMS
from proofs.session_theorems import SESSION_THEOREMS
from proofs.theorem import Theorem
from proofs.walk_theorems import WALK_LEMMAS, WALK_THEOREMS
from proofs.window_theorems import WINDOW_THEOREMS

__all__ = ["LEMMAS", "THEOREMS", "theorem_named", "theorems_about"]

LEMMAS = (*WALK_LEMMAS, *COUNT_LEMMAS)
"""All lemmas: what theorems cite, each proved by its base and step."""


def _proofs_of(lemmas: tuple[Lemma, ...]) -> Iterator[Theorem]:
    return chain.from_iterable(map(obligations, lemmas))


THEOREMS: tuple[Theorem, ...] = (
    *RECORD_THEOREMS,
    *_proofs_of(WALK_LEMMAS),
    *WALK_THEOREMS,
    *WINDOW_THEOREMS,
    *ACQUIRE_THEOREMS,
    *COUNTING_THEOREMS,
    *_proofs_of(COUNT_LEMMAS),
    *COMPLETE_COUNT_THEOREMS,
    *DURABLE_THEOREMS,
    *COORDINATOR_THEOREMS,
    *RECOVERY_THEOREMS,
    *PROGRESS_THEOREMS,
    *SESSION_THEOREMS,
    *GROUP_THEOREMS,
)


def theorem_named(name: str) -> Theorem:
    """Return the theorem that is called so."""
    return next(theorem for theorem in THEOREMS if theorem.name() == name)


def theorems_about(words: str) -> list[Theorem]:
    """Return the theorems of that property, or that transition, or the one of that name."""
    found = [
        theorem
        for theorem in THEOREMS
        if words in (theorem.property.name, theorem.transition, theorem.name())
    ]
    if not found:
        allowed = (
            "a property or a transition as the table names them, such as owner_iff_held, accept"
        )
        raise InvalidValueError("--only", words, allowed)
    return found
