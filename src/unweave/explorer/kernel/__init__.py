"""The arithmetic of the explorer's page: C, compiled to WebAssembly."""
