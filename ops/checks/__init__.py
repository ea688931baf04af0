"""What the doctor looks at: one module a kind of thing, one function a check, none of which may stop another."""
