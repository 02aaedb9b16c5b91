"""How much must have been judged before anything is said to conform.

Counted is what was recorded or played, never what this project put in between, such as the gap
where events are missing. What is wrong is wrong however much was not judged; where nothing is, and
too little was judged, the verdict is ``unknown``.
"""

from enum import Enum

import attrs


@attrs.frozen
class Measure:
    """What is counted, the share of it that may stay unjudged, and what to do about more."""

    counted: str
    unjudged: float
    remedy: str


class Evidence(Enum):
    """What a verdict is about.

    Of a recording nearly all is judged: one that is whole, or has a state at its beginning and
    after what is missing, leaves nothing out. A sequence that was not judged to its end was judged
    up to there, so that a share of sequences says less. A duty is judged where it was at stake.
    """

    EVENTS = Measure("events", 0.1, "record from the beginning, or with checkpoint=N")
    REQUESTS = Measure("requests", 0.1, "give the whole logs of all brokers")
    SEQUENCES = Measure("sequences", 0.25, "give it more --sequences or --seconds")
    DUTIES = Measure("duties", 0.25, "give it more --runs or --seconds")


def too_little(of: Evidence, judged: int, given: int, believed: int = 0) -> str:
    """Return in one line why what was judged bears no verdict, with the remedy; empty if it does.

    ``believed`` of the judged begin anew behind what is missing, where nothing contradicts them.
    Where nothing was given, nothing is known.
    """
    measure = of.value
    if judged > believed and given - judged <= measure.unjudged * (given - believed):
        return ""
    share = f"{max(0, judged - believed):,} of {given:,} {measure.counted} were judged"
    return f"{share}, at least {1 - measure.unjudged:.0%} must be: {measure.remedy}"
