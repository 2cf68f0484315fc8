"""Learning without a model: by what people said, what commands came to, and what repeats."""
