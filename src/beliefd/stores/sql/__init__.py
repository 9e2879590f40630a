"""What SQLite and PostgreSQL are asked in the same words."""
