"""Machine-checked models and proofs; every proof has a negative control."""
