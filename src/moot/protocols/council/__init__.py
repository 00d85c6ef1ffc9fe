"""What debate, advisory and consensus share: facts, the course of phases, motions and challenges, prompts, views."""
