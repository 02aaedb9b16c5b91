"""The fast implementation of share groups: an interval list, compiled, with two faces.

``impl.partition`` takes the model's operations one by one; ``impl.kernel`` replays the columns of
a recorded trace. Both run the same compiled functions. From the bottom up: ``layout`` and
``state`` define the arrays; ``rows``, ``runs``, ``window``, ``locks``, ``durable``
and ``writes`` are what the operations share; ``policy``, ``acquire``, ``acknowledge``,
``progress``, ``expiry``, ``dead_letter``, ``aborted`` and ``leadership`` are the operations;
``encode`` converts the model's values; ``checkpoint`` takes a whole state; ``flatten``, ``events``,
``validity``, ``compare`` and ``replay`` read and check recorded columns; ``ahead`` compiles what is
compiled of them, in parts.
"""
