"""The ground floor: the vocabulary every room shares. It knows no room above it."""
