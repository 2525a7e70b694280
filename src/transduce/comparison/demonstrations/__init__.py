"""The article's statements about single parts, computed by the real layers."""
