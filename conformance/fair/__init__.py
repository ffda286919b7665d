"""The fair profile: engines in which running requests take turns with waiting ones.

It is the engine profile with another ledger: who runs is decided by a quantum. `reading` says where a
history leaves that, `waits` how long anybody waits, whatever the engine does otherwise.
"""
