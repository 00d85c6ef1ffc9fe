"""Questions whose answer lies in files: one mind alone, votes and debates, with shared and with split evidence."""
