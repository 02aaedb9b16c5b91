"""Mutation runs: which small changes of the code the tests notice (``python -m tools.mutation``).

Read in this order:

- ``operators``: what is changed; ``mutants``: every mutant of a module;
- ``checks``: what runs against a mutant; ``run``: each mutant in a process of its own;
- ``results``, ``report`` and ``cli``: what is kept and how it is printed.
"""
