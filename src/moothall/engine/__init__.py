"""The engine: folds facts into state, asks the rulebook what to do next, does it, and appends the resulting facts."""
