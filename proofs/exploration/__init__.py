"""The exploration of small worlds, in which every state is visited (``sharespec explore``).

Read in this order:

- ``search``: every state that can be reached;
- ``world``, ``moves``: how large a world of leaders is, and what can happen to a leader in it;
- ``normal``: what matters of a leader; ``side_by_side``: specification and implementation together;
- ``leader_graph``, ``leaders``: what leaders do; ``network``, ``durables``: what becomes of writes;
- ``product``: all of them together, over numbers (``intern``, ``tables``);
- ``facts``, ``end_to_end``: what should hold between a leader and what is durable;
- ``liveness``: what comes about in the end;
- ``run_table``, ``report``: how it is shown.
"""
