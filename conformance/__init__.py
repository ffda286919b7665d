"""How we tell: workloads, runs, histories, invariants, and the evidence legs that search for violations."""
