"""The executable specification of share groups: pure functions over immutable values.

Read in this order, each module resting on those above it:

- ``logic``: the three words in which rules are written, so that they also build Z3 terms;
- ``record``: the rules for one record;
- ``log``, ``window``, ``coordinator``: the log's extent, the records in flight, the durable state;
- ``kafka``: what Apache Kafka does otherwise, which a reader of the profile ``kip`` can pass over;
- ``partition``: the state of a share-partition as one value, and moving its start offset;
- ``writes``: the two phases of a write to the share coordinator;
- ``initialize``, ``acquire``, ``acknowledge``, ``release``, ``expire``, ``log_start``,
  ``mark_in_progress``, ``dead_letters``, ``aborted``, ``alter_config``: the transitions, each in
  four parts: Guard, Effect, Delivery count, Persistence;
- ``policies``: how this project chooses where the rules leave a choice;
- ``step``: one operation applied; ``lag``: how much is still to be processed;
- ``share_session``: what a broker keeps for a member; ``share_broker``: many share-partitions
  and sessions as one value; ``share_request``: serving ShareFetch and ShareAcknowledge;
  ``mark_request``: serving MarkInProgress;
- ``share_group``: a group as its coordinators have it; ``group_lifecycle``: the operations on it,
  each in two stages; ``group_membership``: the epochs and sessions of its members.

``share_coordinator`` holds the durable state of many share-partitions and serves the requests about
it; ``state_topic`` holds the records that it appends. ``share_cluster`` has brokers that lead one
after the other, and the share coordinator from which they read. What is true of every state that
these reach is in ``judge``, in modules that end in ``invariants``.
"""
