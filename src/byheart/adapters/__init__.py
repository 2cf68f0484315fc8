"""The outside world: disk and scanners. Each adapter knows the domain and one package."""
