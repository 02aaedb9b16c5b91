"""Theorems about the functions of the specification, proved by Z3 (``sharespec prove``).

Nothing here restates a rule: the functions of ``spec`` are called, with Z3 terms for values.
Read in this order:

- ``lifting``: what Python asks of terms; ``symbolic``: running it on them, with every branch
  followed both ways;
- ``points``: the records of a window at the offsets that a theorem names, whatever the others are;
- ``situation``: what a theorem speaks about, as terms, as values, and as reached by a run;
- ``any_partition``: any share-partition, with an operation on any two offsets; ``fetches``: with a
  fetch; ``records``, ``effects``, ``attempts``: what is asked of a record, of what an operation
  leaves, and of what a rule refuses;
- ``record_operations``: what can happen to one record, in one table;
- ``theorem``: how modules state a theorem or a lemma, and the change to a rule under which it must
  fail; ``controls``: the changes that occur more than once;
- ``count``: counts over ranges of any width;
- ``operation_cases``: the operations on records, in one table;
- ``partition_operations``: whatever can happen to a share-partition, in one table;
- the modules whose names end with ``_theorems``: the theorems;
- ``catalogue``: all of them in one table;
- ``harness``: proving, and showing that a proof says something, on a Python test; ``reachable``:
  states that runs reach;
- ``report``: how it is shown.
"""
