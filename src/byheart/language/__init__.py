"""How people say things: sentences, what lasts, what opposes what."""
