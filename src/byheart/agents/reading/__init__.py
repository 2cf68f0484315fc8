"""What readers of transcripts share: where agents keep them, lines and documents, and how events become turns."""
