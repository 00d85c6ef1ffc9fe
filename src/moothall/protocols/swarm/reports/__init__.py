"""What people read of a swarm: timeline, report, live lines."""
