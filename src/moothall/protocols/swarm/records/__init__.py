"""The files of a swarm run, rendered as text."""
