"""Measurements of the specification, the implementation and the replay."""
