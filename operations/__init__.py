"""What an operator asks about a trace or the state topic.

Read in this order:

- ``local``: the share-partitions of traces and their names, one after another, without Spark;
- ``walk``: one share-partition through the specification, up to some time or event;
- ``describe``, ``in_flight``: what a broker should report then;
- ``frames``: the states around each event, also behind one that diverges;
- ``changes``, ``explain``: one share-partition step by step; ``life``: one record of it;
- ``view``: a share-partition as a page;
- ``state_topic_file`` and ``state_topic``: a dump of ``__share_group_state``, read and checked.
"""
