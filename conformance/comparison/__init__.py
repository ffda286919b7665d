"""`slotspec compare`: static against continuous batching, measured on the same workload."""
