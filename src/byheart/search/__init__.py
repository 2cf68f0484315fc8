"""What every search is made of: models, order, and how words and meaning are put together."""
