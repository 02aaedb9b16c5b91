"""Mutation runs: which small changes of the code the checks notice."""
