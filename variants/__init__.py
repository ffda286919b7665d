"""Alternative implementations, one file each; `flawed/` holds the wrong ones."""
