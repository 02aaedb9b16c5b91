"""Machine-checked proofs about the specification, in three packages.

- ``theorems``: what Z3 proves of every share-partition (``sharespec prove``);
- ``exploration``: small worlds of which every state is visited (``sharespec explore``);
- ``hazards``: the draft of an IN_PROGRESS state as written, and what goes wrong in it
  (``sharespec hazards``).
"""
