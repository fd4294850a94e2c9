"""The cookbook: named recipes, one YAML file each."""
