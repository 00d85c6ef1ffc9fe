"""The rules of a swarm, one file for each part of a round."""
