"""How each agent is connected, as data."""
