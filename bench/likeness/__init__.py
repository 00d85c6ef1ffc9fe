"""Which ideas count as one, measured on pairs written for it."""
