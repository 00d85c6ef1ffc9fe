"""A conference as a folder of plain files: the door for agents that have nothing but a file system."""
