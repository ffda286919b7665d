"""What is right: the vocabulary, the reference `generate`, and the transition system."""
