"""The handbook's formats: raw memories, rollout summaries, MEMORY.md, memory_summary.md and skills, written and read."""
