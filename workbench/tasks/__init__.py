"""Tasks: what is learned and judged, declared as data, and where its rows come from."""
