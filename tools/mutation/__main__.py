"""``python -m tools.mutation``."""

from tools.mutation.cli import mutate_command

mutate_command(prog_name="python -m tools.mutation")
