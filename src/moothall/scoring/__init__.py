"""The arithmetic of votes, trust, consensus and convergence; pure functions without I/O."""
