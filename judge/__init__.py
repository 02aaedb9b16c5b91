"""The judge: one recorded event against the rules.

Read in this order:

- ``invariants``: what is true of every state of the specification;
- ``view`` and ``whole_state``: a share-partition of the specification as neutral values;
- ``recorder``: the rules, as far as a recorder can tell what happened; ``checkpoint``: operations
  that only a recording has;
- ``engine``: the one interface through which specification and implementation are driven;
- ``pair``: both side by side, compared after every step;
- ``choices``: what an implementation chose in an event, as the specification's choice;
- ``compare``: the recorded outcome and state against the expected ones, and a finding in words;
- ``finding``: what is wrong with an event; ``follower``: one engine, event by event;
- ``weighing``: how much must be judged before anything is said to conform;
- ``words``: operations, outcomes and states in words;
- ``world``: random histories, for the lockstep, for tests and for ``sharespec generate``.
"""
