"""`slotspec prove`: every theorem about the transition system, and every bridge from it to the code, in one run."""
