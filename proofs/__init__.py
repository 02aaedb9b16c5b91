"""Machine-checked proofs about the specification."""
