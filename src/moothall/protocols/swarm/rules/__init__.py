"""The rules of a swarm, one module per part of a round."""
