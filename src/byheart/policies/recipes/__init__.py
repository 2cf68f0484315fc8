"""How each agent is connected to memory: which files, and what goes into them."""
