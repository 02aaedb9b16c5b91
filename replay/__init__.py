"""The replay: recorded traces of any size against the rules, in this process or on Spark.

Read in this order. ``operations`` reads traces by the same modules, one after another and without
Spark, so nothing before ``session`` imports it:

- ``sources``: which files there are, their form, and their lines;
- ``verdict``: what a replay reports of a file, a share-partition and a whole;
- ``gather``: the events of files, written again by buckets of share-partitions unless in order;
- ``tasks``: from the files to the tasks that check them, and the rows of these, sorted;
- ``tables``: events as rows; those of one share-partition, of one leader after another;
- ``pieces``: sorted rows as share-partitions, a long one in pieces;
- ``plan`` and ``check``: rows of one share-partition against the specification and the
  implementation; ``onward``, behind a divergence;
- ``check_sorted``: the whole check of sorted rows, of files, addresses, tables and streams alike,
  and of segments side by side; ``result_schema``: what is written of it;
- ``processes``: what runs the tasks; ``preload``: what children find ready; ``java`` and
  ``session``: a Java for Spark, and its workers; ``place`` chooses;
- ``run``: a whole replay in two stages, read and check; ``report`` makes documents of it;
- ``frame``, ``distant`` and ``stream``: DataFrames and tables, addresses, and what comes in
  batches: Spark sorts each for ``check_sorted``;
- ``synthetic`` and ``generate``: large traces to replay.

``gather`` and ``tasks`` do what Spark's
``groupBy("partition").applyInArrow`` would do in one line. The reason is the JVM: a shuffle sends
each row from Python to Java and back. Here Spark moves only tasks and verdicts, each worker reads
and writes Parquet itself, and a file that is in order already is not moved at all.
"""
