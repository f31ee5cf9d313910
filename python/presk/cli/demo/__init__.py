"""The tour: what `presk demo` shows, a part a file."""
