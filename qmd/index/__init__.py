"""The index: schema, catalogue, walking and writing."""
