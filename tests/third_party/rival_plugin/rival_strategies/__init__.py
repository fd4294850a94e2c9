"""A strategy under a name that is taken."""
