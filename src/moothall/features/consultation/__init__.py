"""Consultations: the row. The code lies in `protocols`, `app` and `surfaces`, until it moves here."""
