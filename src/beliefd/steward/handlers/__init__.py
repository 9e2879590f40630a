"""What each operation does, one module per vocabulary."""
