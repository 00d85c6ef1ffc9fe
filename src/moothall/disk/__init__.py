"""Disk access: atomic writes, locks that end with their process, and folders with untrusted content."""
