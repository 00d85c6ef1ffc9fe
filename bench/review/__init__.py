"""What a board of scripted reviewers of stated skill finds, misses and invents, against one reviewer alone."""
