"""Work that is bounded: programs, functions in a child process, calls that may hang, and the speed of a run."""
