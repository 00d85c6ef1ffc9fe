"""The files of a swarm run as text."""
