"""Files that must not be half written, locks that end with their holder, folders whose contents are not to be trusted."""
