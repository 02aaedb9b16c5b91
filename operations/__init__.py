"""What an operator asks of a trace or of the state topic.

Read in this order:

- ``local``: the share-partitions of traces one after another, without Spark;
- ``walk``: one share-partition through the specification, up to a moment; ``naming``: its name;
- ``describe``, ``in_flight``, ``metrics``: what a broker should report at that moment;
- ``explain``: one share-partition step by step;
- ``state_topic_file`` and ``state_topic``: a dump of ``__share_group_state``, read and checked.
"""
