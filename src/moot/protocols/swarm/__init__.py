"""The swarm: equal explorers, a blackboard that operations alone change, and consensus that is measured."""
