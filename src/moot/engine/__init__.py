"""The engine: folds facts, asks rulebooks what is to be done, does it, and appends what came of it."""
