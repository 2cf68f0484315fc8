"""What sessions teach: extracted, consolidated, published, asked about, and forgotten."""
