"""What one session shows, found without a model."""
