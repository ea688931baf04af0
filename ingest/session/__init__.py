"""The neutral session: records become turns, and turns become markdown."""
