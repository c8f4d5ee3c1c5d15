"""What is measured rather than tested: each module's `rows()` gives (figure, measured, bar or ratio)."""
