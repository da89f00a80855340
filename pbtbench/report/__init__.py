"""What people see of a run: the live display and the tables."""
