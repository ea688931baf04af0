"""Jobs for the machine's scheduler."""
