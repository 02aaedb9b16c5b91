"""The commands of ``sharespec``, one module each."""
