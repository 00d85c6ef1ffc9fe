"""The shared parts of debate, advisory and consensus: facts, phases, motions and challenges, prompts, reports."""
