"""A replay as one page that needs no network: ``sharespec view``, ``sharespec replay --html``.

Read in this order:

- ``columns``: states over time in a bounded number of columns;
- ``drawing``: one share-partition as columns, with its events around one of them;
- ``rules``: where a rule comes from, and where ``spec`` enforces it;
- ``trace``: the drawing of a trace, small or large; ``many``: those of a whole replay;
- ``page``: one or many share-partitions as HTML of a bounded size (``page.js``, ``page.css``).
"""
