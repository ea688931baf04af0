"""From texts to vectors: providers behind one interface, how texts are cut for them, and the run that embeds."""
