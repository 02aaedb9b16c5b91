"""The judge: one recorded event against the rules.

Read in this order:

- ``engine``: the one shape in which specification and implementation are driven;
- ``choices``: what an implementation chose in an event, as the specification's choice;
- ``compare``: the recorded outcome and state against the expected ones;
- ``finding``: what is wrong with an event; ``follower``: one engine, event by event;
- ``words``: operations, outcomes and states in words.
"""
