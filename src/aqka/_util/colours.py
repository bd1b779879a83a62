"""The colours of everything drawn: the pages and the figures take them from here alone.

The palette of Okabe and Ito, whose colours differ under every common colour-vision deficiency; its
yellow, which can hardly be seen on white, is left out.
"""

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
GREY = "#999999"  # what things are compared with: levels, even shots
NOTE = "#666666"  # words inside a figure

HEAT_MAP = "cividis"  # by matplotlib's name
HEAT_MAP_STOPS = (
    (0, 34, 78),
    (26, 56, 111),
    (67, 78, 108),
    (97, 101, 111),
    (125, 124, 120),
    (155, 148, 118),
    (188, 174, 108),
    (222, 201, 88),
    (254, 232, 56),
)
"""The same from its low to its high end, for pages: red, green and blue of even steps."""

LIGHT_PAGE = {
    "paper": "#FFFFFF",
    "panel": "#F6F7F9",
    "ink": "#1C2026",
    "soft": "#5C6470",
    "rule": "#D9DDE3",
    "c1": VERMILION,
    "c2": BLUE,
    "c3": GREEN,
    "c4": PURPLE,
    "grey": GREY,
    "amber": ORANGE,
}
"""What a page is set in: paper, panels, text, lesser text, rules, curves c1 to c4, tones."""

DARK_PAGE = LIGHT_PAGE | {
    "paper": "#14171C",
    "panel": "#1D2128",
    "ink": "#E8EAEE",
    "soft": "#A3ABB7",
    "rule": "#373D47",
    "c2": SKY,
}
PRINTED_PAGE = LIGHT_PAGE | {
    "panel": "#F3F4F6",
    "ink": BLACK,
    "soft": "#444444",
    "rule": "#CCCCCC",
}
