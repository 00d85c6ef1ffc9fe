"""Whether members with different evidence come to the right answer, with and without tools."""
