"""Everything that is known of each agent: a module or folder for one, `agent.Agent` for what it says, `agent.every` for all."""
