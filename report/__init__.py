"""How what was found is written for others: one writer for each form, whatever was judged.

What is found stays with those that find it; they hand over texts. Nothing that was read from a
file, a broker or a driver gets into a document with a meaning of its own.

- ``document``: what a report says: headings, named texts, tables, lists and commands;
- ``terminal``, ``markdown``, ``html``: a document in each of these forms;
- ``junit``: test cases as JUnit XML;
- ``page``: HTML elements, and a page around them.
"""
