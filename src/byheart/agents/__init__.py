"""Everything that is known of each agent: where its transcripts lie and how they are read, how it is connected, its own memory."""
