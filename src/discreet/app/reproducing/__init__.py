"""`discreet reproduce`: the papers' tables and figures, shown and filed."""
