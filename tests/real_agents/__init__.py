"""Tests of `real_agents`."""
