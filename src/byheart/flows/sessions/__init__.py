"""Stories about agents' sessions: reading them, looking at them, asking what they show."""
