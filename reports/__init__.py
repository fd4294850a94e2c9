"""Reports: a comparison in, something to look at out."""
