"""Strategies that are broken on purpose."""
