"""The colours of all pictures: those of Okabe & Ito, which people with any colour vision tell apart.

Text says what colour says.
"""

SUSPECTED, BLUE, OTHERS, INK, FAINT, RULED = "#D55E00", "#0072B2", "#C9CED6", "#1F2933", "#7B8794", "#EEF1F4"
