"""The PySpark replay that compares traces, specification and implementation."""
