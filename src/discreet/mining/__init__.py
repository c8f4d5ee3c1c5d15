"""Mining: models, answers to many questions and synthetic tables, learned from counts alone."""
