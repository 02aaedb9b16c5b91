"""How much the checks of the project notice (``sharespec mutate``).

Read in this order:

- ``operators``: what is changed; ``mutants``: every mutant of a module;
- ``checks``: what a mutant is put through; ``run``: each in a process of its own;
- ``results``, ``report`` and ``cli``: what is kept and how it is shown.
"""
