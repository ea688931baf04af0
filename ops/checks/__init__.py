"""The doctor's checks: one module per subject, one function per check. A failing check stops no other."""
