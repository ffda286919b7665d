"""Engines with interfaces of their own, and the adapters that put them behind the profile."""
