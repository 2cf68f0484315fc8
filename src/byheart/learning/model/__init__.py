"""The same with a model, whose answers are checked."""
