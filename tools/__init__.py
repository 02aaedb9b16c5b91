"""Development tools: mutation runs and generated documents. Not part of the wheel."""
