"""Many verdicts, read together: clusters of failures, an index page, tables, and what changed between two gradings."""
