"""The attack zoo: one trick a file, each harmless. `conformance.grading.zoo` tries them on this machine."""
