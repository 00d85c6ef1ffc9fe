"""The swarm protocol: equal explorers, a blackboard that only operations change, and measured consensus."""
