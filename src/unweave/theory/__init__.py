"""What the papers prove, and their toy systems: computed, not asserted."""
