"""Judge a recorded history, line by line: `slotspec check-trace`. docs/traces.md describes the format."""
