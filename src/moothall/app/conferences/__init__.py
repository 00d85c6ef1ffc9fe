"""Conferences as folders of plain files: access for agents that have nothing but a file system."""
