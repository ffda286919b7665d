"""Wrong implementations, one realistic fault a file; `BREAKS` names the invariants that it breaks."""
