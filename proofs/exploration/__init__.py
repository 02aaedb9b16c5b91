"""The exploration of small worlds: a search that visits every state (``sharespec explore``).

Read in this order:

- ``search``: breadth-first search through every reachable state;
- ``world``, ``moves``: the size of a world, and the moves of a leader in it;
- ``normal``: a leader's normal form; ``side_by_side``: specification and implementation together;
- ``leaders``, ``coordinator``: every move of a leader, every merge of the share coordinator;
- ``explorer``: the world that they make together, and the search through it;
- ``end_to_end``: properties of a leader and the durable state;
- ``liveness``: properties of fair infinite runs;
- ``run_table``, ``report``: the output.
"""
