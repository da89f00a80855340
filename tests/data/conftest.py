"""Test data, some of it named like tests."""

collect_ignore_glob = ["*"]
