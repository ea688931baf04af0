"""Search in a project: its own configuration, its own index, and record names that hide the engine."""
