"""Pure folds for people: what every protocol shares."""
