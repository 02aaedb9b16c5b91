"""How what was found is written for others: one writer for each form, whatever was judged.

What is found stays with those that find it; they hand over texts. Nothing that was read from a
file, a broker or a driver gets into a document with a meaning of its own.

- ``junit``: test cases as JUnit XML;
- ``markdown``: text, tables and code as Markdown;
- ``page``: elements, and a whole page with ``page.css``, as HTML;
- ``terminal``: named texts on a terminal, and what a search has done so far.
"""
