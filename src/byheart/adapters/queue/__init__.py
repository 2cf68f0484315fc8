"""The queue of learning: state.db."""
