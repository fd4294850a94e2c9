"""The dashboard's pages: they lay out what reports and the cold core compute. Only ``app.py`` opens them."""
