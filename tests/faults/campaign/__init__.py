"""The campaign of faults: children that are killed, files that are damaged, inputs that nobody would type."""
