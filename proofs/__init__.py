"""Machine-checked proofs about the specification, in four packages.

- ``theorems``: what Z3 proves of every share-partition (``sharespec prove``);
- ``exploration``: small worlds of which every state is visited (``sharespec explore``);
- ``refinement``: small states from each of which the implementation makes every small step as the
  specification does (``sharespec refine``);
- ``hazards``: the draft of an IN_PROGRESS state as written, and what goes wrong in it
  (``sharespec hazards``).
"""
