"""What turns words into values: the schema and the prompt of an ask, and the reading of what comes back."""
