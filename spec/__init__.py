"""The executable specification of a share-partition: pure functions over immutable values.

Read in this order, each module resting on those above it:

- ``logic``: the three words in which rules are written, so that they also build Z3 terms;
- ``record``: the rules for one record;
- ``log``, ``window``, ``coordinator``: the log's extent, the records in flight, the durable state;
- ``partition``: the state of a share-partition as one value, and moving its start offset;
- ``writes``: the two phases of a write to the share coordinator;
- ``initialize``, ``acquire``, ``acknowledge``, ``release``, ``expire``, ``log_start``,
  ``mark_in_progress``, ``dead_letters``, ``alter_config``: the transitions, each in four parts:
  Guard, Effect, Delivery count, Persistence;
- ``policies``: how this project chooses where the rules leave a choice;
- ``step``: one operation applied; ``view`` and ``lag``: what can be seen from outside;
- ``invariants``: what is true of every state.
"""
