"""The hazards of the draft of an IN_PROGRESS state, found by search (``sharespec hazards``).

The draft (KAFKA-20458) is written down as its text stands, reading by reading, and nothing else
rests on it; what the text should say instead, ``spec.record`` says (profile ``draft_resolved``).
Read in this order:

- ``draft_readings``: what the text leaves open or contradicts itself in, as named options;
  ``draft_record``: its rules for one record; ``draft_leader``: the share-partition leader, with
  requests, timers, the sweeper and writes; ``draft_consumer``: the client's queue of marks;
- ``machine``: one interface to drive and observe the draft and the specification;
- ``world``: the moves of a small world, and its state; ``memory``: what a step leaves;
- ``run``: the first state, the possible next acts, and one step;
- ``properties``: what should hold of every step;
- ``hazard``: a hazard, and searching for its run, its controls, its absence, and for what remains
  where sentences are changed;
- ``catalogue``: all of them; ``together``: all properties at once in larger worlds;
- ``page``: what is found of a hazard, as a page; ``review``: the parts of the document.
"""
