"""The replay: recorded traces of any size against the rules, in this process or on Spark.

Read in this order. ``operations`` reads traces by the same modules, one after another and without
Spark, so nothing before ``session`` imports it:

- ``sources``: which files there are, and their form;
- ``verdict``: what a replay reports of a file, a share-partition and a whole;
- ``lines`` (JSON) and ``survey`` (Parquet): the events of one file; ``child``, which one may end;
- ``recording``: what a recorder says of its own files;
- ``gather``: files that are not in order, written again by buckets of share-partitions;
- ``sequence``: the rows of one share-partition, of one leader after another;
- ``facts``, ``tasks`` and ``load``: from the files to the tasks that check them, and sorted rows;
- ``pieces``: sorted rows as share-partitions, a long one in pieces;
- ``plan`` and ``check``: rows of one share-partition against the specification and the
  implementation; ``onward``, behind a divergence; ``segments``, side by side; ``lag_file``;
- ``check_sorted``: the whole check of sorted rows, of files, addresses, tables and streams alike;
- ``runner``: what runs the tasks; ``processes``: this process and its children; ``preload``: what
  they find ready; ``java`` and ``session``: a Java for Spark, and its workers; ``place`` chooses;
- ``run``: a whole replay in two stages, read and check; ``report`` prints it, ``written`` makes
  documents of it;
- ``synthetic`` and ``generate``: large traces to replay.

``survey``, ``gather``, ``load`` and ``tasks`` do what Spark's
``groupBy("partition").applyInArrow`` would do in one line. The reason is the JVM: a shuffle sends
each row from Python to Java and back. Here Spark moves only tasks and verdicts, each worker reads
and writes Parquet itself, and a file that is in order already is not moved at all.
"""
