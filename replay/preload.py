"""What the children of a replay find ready: the process whose forks they are imports it.

Nothing else may import it: what it hides stays hidden.
"""

import gc

from replay.processes import make_lean

make_lean()

from impl.cache import is_compiled, is_interpreted  # noqa: E402 - what is hidden is hidden before
from replay import check_sorted, gather  # noqa: E402, F401 - as above; children use them
from replay.check import compile_ahead  # noqa: E402 - as above
from replay.plan import Plan  # noqa: E402 - as above

if is_compiled() and not is_interpreted():
    compile_ahead(Plan())  # To load what was compiled takes each child as long as its first task.
gc.freeze()  # A child that looked for garbage here would have to copy what it shares.
