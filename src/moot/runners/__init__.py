"""What keeps sessions going: in this process."""
