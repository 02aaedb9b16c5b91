"""What an operator asks about a trace or the state topic.

Read in this order:

- ``local``: the share-partitions of traces and their names, one after another, without Spark;
- ``walk``: one share-partition through the specification, up to some time or event;
- ``describe``, ``in_flight``, ``metrics``: what a broker should report then;
- ``explain``: one share-partition step by step;
- ``state_topic_file`` and ``state_topic``: a dump of ``__share_group_state``, read and checked.
"""
