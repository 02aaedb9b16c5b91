"""Clusters under faults: what happened in them, and the rules that hold from end to end."""
