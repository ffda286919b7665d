"""The cached profile: a model that owns one key/value cache line a slot, and sees only what is in it."""
