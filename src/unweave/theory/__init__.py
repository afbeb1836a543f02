"""The theorems and toy systems of the papers, computed."""
