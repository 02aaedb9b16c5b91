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


class Given(Enum):
    """What a verdict is about.

    Of a recording nearly all is judged: one that is whole, or has a state at its beginning and
    after what is missing, leaves nothing out. A sequence that was not judged to its end was judged
    up to there, so that a share of sequences says less.
    """

    EVENTS = Measure("events", 0.1, "record from the beginning, or with checkpoint=N")
    REQUESTS = Measure("requests", 0.1, "give the whole logs of all brokers")
    SEQUENCES = Measure("sequences", 0.25, "give it more --sequences or --seconds")
    SCRIPTS = Measure("scripts", 0.25, "give it more --runs or --seconds")


def too_little(of: Given, judged: int, given: int) -> str:
    """Return in one line why what was judged bears no verdict, with the remedy; empty if it does.

    Where nothing was given, nothing is known.
    """
    unjudged, measure = max(0, given - judged), of.value
    if judged and unjudged <= measure.unjudged * given:
        return ""
    share = f"{unjudged:,} of {given:,} {measure.counted} were not judged"
    return f"{share}, at most {measure.unjudged:.0%} may be: {measure.remedy}"
