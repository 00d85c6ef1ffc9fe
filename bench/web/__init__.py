"""What the page costs: its first view, scrolling, new entries, and the server's part for many viewers."""
