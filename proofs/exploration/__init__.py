"""The exploration of small worlds: a search that visits every state (``sharespec explore``).

Read in this order:

- ``search``: breadth-first search through every reachable state;
- ``world``, ``moves``: the size of a world, and the moves of a leader in it;
- ``normal``: a leader's normal form; ``side_by_side``: specification and implementation together;
- ``leader_graph``, ``leaders``: all their moves; ``network``, ``durables``: writes and merges;
- ``product``: the search over their combinations, as numbers (``intern``, ``tables``);
- ``facts``, ``end_to_end``: properties of a leader and its durable state;
- ``liveness``: properties of fair infinite runs;
- ``run_table``, ``report``: the output.
"""
