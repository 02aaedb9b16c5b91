"""The draft KIP of an IN_PROGRESS state (KAFKA-20458) as its text stands: profile draft_literal.

Nothing else in the specification rests on this package, and where it is agreed what the text
should say, ``spec.record`` says it (profile ``draft_resolved``). Here it can be seen what the text
as written does, reading by reading. Read in this order:

- ``readings``: what the text leaves open or contradicts itself in, as named options;
- ``record``: the rules for one record;
- ``leader``: the share-partition leader: requests, timers, the sweeper, writes;
- ``consumer``: the client's side: the queue of marks that waits for poll().
"""
