"""Strategies: one file, one idea; each changes an encoder and knows no other."""
