"""What a session shows by itself: commands, errors, and what got over them."""
