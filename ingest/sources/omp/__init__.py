"""omp (oh-my-pi): transcripts in the form of Pi, from which it was made."""
