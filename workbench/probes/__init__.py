"""Probes: they observe a reloaded encoder and never change it."""
