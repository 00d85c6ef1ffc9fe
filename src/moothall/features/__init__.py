"""What Moot can do, one folder each. Nothing outside imports from here: `app/features.py` loads rows and places by name."""
