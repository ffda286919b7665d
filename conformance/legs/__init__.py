"""The evidence legs: where the workloads come from, each leg with its bound."""
