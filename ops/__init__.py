"""Installation and operation of the brain on a machine."""
