"""Every faulty implementation."""

import attrs

from tools.promises.behaviour import Face
from tools.promises.delivering import DELIVERING
from tools.promises.keeping import KEEPING
from tools.promises.seldom import SELDOM

_NO_CORE = {
    "reads open transactions under read_committed": "the kit leaves no transaction of cores open",
    "delivers again what the dead-letter queue took": "short searches do not come so far",
}
"""Faulty implementations that the search of cores does not show, and why."""

BEHAVIOURS = tuple(
    attrs.evolve(behaviour, faces=(Face.TRACE,)) if behaviour.name in _NO_CORE else behaviour
    for behaviour in (*DELIVERING, *KEEPING, *SELDOM)
)
"""In the order of what they concern."""
