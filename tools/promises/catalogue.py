"""Every faulty implementation."""

from tools.promises.delivering import DELIVERING
from tools.promises.keeping import KEEPING
from tools.promises.seldom import SELDOM

BEHAVIOURS = (*DELIVERING, *KEEPING, *SELDOM)
"""In the order of what they concern."""
