"""What the project itself is worked on with: mutants and generated documents; not in the wheel."""
