"""The output of ``sharespec prove``: a line for each transition and property, and totals."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from proofs.theorems.harness import Proof, ProofVerdict, Refutation
from proofs.theorems.reachable import Witness
from proofs.theorems.theorem import PARTS, Property, Theorem


@attrs.frozen
class TheoremFinding:
    """The results of one theorem; ``refutation`` is None if no controls were requested."""

    proof: Proof
    witness: Witness | None
    refutation: Refutation | None = None
    test: str = ""


def is_proved(finding: TheoremFinding) -> bool:
    """Whether the theorem is proved, has a witness, and fails under its control."""
    controlled = finding.refutation is None or finding.refutation.fails
    return (
        finding.proof.verdict is ProofVerdict.PROVED and finding.witness is not None and controlled
    )


def _cited(theorem: Theorem) -> list[str]:
    """Return the names of the lemmas on which the proof of the theorem rests."""
    return [citation.lemma.property.name for citation in theorem.cites]


def as_lines(finding: TheoremFinding) -> Iterator[str]:
    """Yield the lines of a finding; a refuted theorem comes with its test."""
    proof = finding.proof
    theorem = proof.theorem
    joined = "of" if theorem.transition in PARTS else "preserves"
    claim = f"{theorem.transition} {joined} {theorem.property.name}"
    yield f"{claim:<68} {_verdict(proof.verdict, proof.seconds)}"
    if proof.reason:
        yield f"    undecided: {proof.reason}"
    if theorem.cites:
        yield f"    by {', '.join(_cited(theorem))}"
    if finding.witness is None:
        yield "    no run reaches a state of which it says something"
    if finding.refutation is not None:
        how = "fails, as it must, if" if finding.refutation.fails else "STILL HOLDS if"
        yield f"    {how} {theorem.control.name} ({finding.refutation.seconds:.3f} s)"
    yield from (f"    {line}".rstrip() for line in finding.test.splitlines())


def listed(theorems: Iterable[Theorem]) -> Iterator[str]:
    """Yield a block for each property: its name and numbers, its sentence, and what it is of."""
    for stated, about in _by_property(theorems):
        numbers = "".join(f" [{number}]" for number in stated.numbers)
        yield f"{stated.name}{numbers}: {stated.sentence}"
        names = ", ".join(dict.fromkeys(theorem.transition for theorem in about))
        yield textwrap.fill(names, 80, initial_indent="    ", subsequent_indent="    ")


def summary(findings: Sequence[TheoremFinding]) -> Iterator[str]:
    """Yield a line for each property: of how many of its theorems there is a whole proof."""
    proofs = {finding.proof.theorem.name(): finding for finding in findings}
    for stated, about in _by_property(finding.proof.theorem for finding in proofs.values()):
        of_it = [proofs[theorem.name()] for theorem in about]
        proved, seconds = sum(map(is_proved, of_it)), sum(each.proof.seconds for each in of_it)
        verdict = "proved" if proved == len(of_it) else f"NOT PROVED: {len(of_it) - proved}"
        yield f"{stated.name:<58} {proved:>4} of {len(of_it):<4} {verdict} {seconds:.1f} s"


def _by_property(theorems: Iterable[Theorem]) -> Iterator[tuple[Property, list[Theorem]]]:
    """Yield each property with the theorems about it, in the order of the first of them."""
    about: dict[str, list[Theorem]] = {}
    for theorem in theorems:
        about.setdefault(theorem.property.name, []).append(theorem)
    yield from ((named[0].property, named) for named in about.values())


def as_json(finding: TheoremFinding) -> str:
    """Return a finding as one line of JSON."""
    theorem, refutation = finding.proof.theorem, finding.refutation
    fields: dict[str, Any] = {
        "transition": theorem.transition,
        "property": theorem.property.name,
        "sentence": theorem.property.sentence,
        "source": theorem.property.source,
        "numbers": theorem.property.numbers,
        "verdict": finding.proof.verdict.value,
        "seconds": round(finding.proof.seconds, 6),
        "cites": _cited(theorem),
        "cases": finding.proof.cases,
        "witness_after_operations": finding.witness and finding.witness.operations,
        "counterexample": finding.test or None,
    }
    if refutation is not None:
        fields["control"] = {
            "change": theorem.control.name,
            "fails": refutation.fails,
            "seconds": round(refutation.seconds, 6),
            "counterexample": refutation.test,
        }
    return json.dumps(fields)


def totals(findings: list[TheoremFinding], seconds: float) -> str:
    """Return the last line: the numbers of proofs, witnesses and controls, and the time."""
    cases = sum(finding.proof.cases for finding in findings)
    controls = [f.refutation for f in findings if f.refutation is not None]
    parts = [
        f"{sum(map(is_proved, findings))} of {len(findings)} theorems proved in {cases} cases",
        f"{sum(finding.witness is not None for finding in findings)} witnesses",
    ]
    if controls:
        parts.append(f"{sum(control.fails for control in controls)} controls fail")
    return f"{', '.join(parts)}; {seconds:.1f} s"


def _verdict(verdict: ProofVerdict, seconds: float) -> str:
    word = {ProofVerdict.PROVED: "proved", ProofVerdict.REFUTED: "NOT TRUE"}.get(verdict, "UNKNOWN")
    return f"{word} {seconds:.3f} s"
