"""How we tell whether an engine is right: its history, and what is judged of it.

The flow is that of the core: a script (plain data) is driven against the referee's language model, gives a
history, and the invariants of profile "engine" judge it. Read `events`, `script`, `drive`, `reading`.
"""
