"""What outlives a session: decision memory, outcomes, trust, threads, circuit breakers, access tokens."""
