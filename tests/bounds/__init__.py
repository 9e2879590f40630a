"""What one caller can do to others: bounded, and refused with the limit."""
