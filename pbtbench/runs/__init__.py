"""Runs and trials: configuration, folder, journal, resume, scheduling, summary."""
