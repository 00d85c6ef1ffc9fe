"""Pure arithmetic of judgement."""
