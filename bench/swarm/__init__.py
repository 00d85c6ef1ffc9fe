"""What a swarm finds and what it costs, with explorers that are formulas; see docs/bench-swarm.md."""
