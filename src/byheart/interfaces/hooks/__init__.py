"""What agents call at moments of a session: told by argv, answered in the agent's own envelope, exit code 0 whatever happens."""
