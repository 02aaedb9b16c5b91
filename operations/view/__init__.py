"""A share-partition as one page that needs no network: ``sharespec view``.

Read in this order:

- ``columns``: states over time in a bounded number of columns;
- ``drawing``: one share-partition as columns, with its events around one of them;
- ``rules``: where a rule comes from, and where ``spec`` enforces it;
- ``trace``: the drawing of a trace, small or large;
- ``page``: a drawing as HTML of a bounded size (``page.js``, ``page.css``).
"""
