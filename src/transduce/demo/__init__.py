"""The built-in corpus: Chinese and English sentences made by a seeded grammar (`corpus`)."""
