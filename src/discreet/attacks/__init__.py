"""What an adversary with stated knowledge finds: one attack per file, and the audit of epsilon."""
