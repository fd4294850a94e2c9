"""Studies that come with the workbench."""
