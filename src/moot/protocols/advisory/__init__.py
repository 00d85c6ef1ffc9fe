"""Advisory: one proposes, the others advise, the proposer decides. `advisory_panel` on the wire."""
