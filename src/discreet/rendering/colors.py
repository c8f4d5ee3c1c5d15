"""Chart colors: the palette of Okabe & Ito, which people with any color vision can distinguish.

Whatever a color shows is also given as text.
"""

VERMILLION, BLUE, GRAY, INK, FAINT, GRID_LINE = (
    "#D55E00",
    "#0072B2",
    "#C9CED6",
    "#1F2933",
    "#7B8794",
    "#EEF1F4",
)
