"""The numbers that `census` is drawn from: weights, all integers, written for this project.

`WORKCLASSES` has the mean hours of the EGM paper's Table 1 ("?" from its Fig 4), and the number of people of
each class among its 32,561, as recomputed for it; `EARNING_MORE` is the total of all Adult. All other weights
are round figures after what is commonly known of that survey, set by hand so that the columns depend on each
other plausibly; they were not fitted to its rows.

Value names are spelled as in Adult, so that hierarchies published for it fit.
"""

from __future__ import annotations

# class: (people in the paper's file, mean hours in hundredths)
WORKCLASSES = {
    "Private": (22_696, 40_27),
    "Self-emp-not-inc": (2_541, 44_42),
    "Self-emp-inc": (1_116, 48_82),
    "Federal-gov": (960, 41_38),
    "Local-gov": (2_093, 40_98),
    "State-gov": (1_298, 39_03),
    "Without-pay": (14, 32_71),
    "Never-worked": (7, 28_43),
    "?": (1_836, 31_92),
}

FEMALE_PER_MILLE = {
    "Private": 355, "Self-emp-not-inc": 160, "Self-emp-inc": 120, "Federal-gov": 320, "Local-gov": 400,
    "State-gov": 380, "Without-pay": 350, "Never-worked": 300, "?": 460,
}  # fmt: skip

# The first year of each band of ages; a band ends before the next, the last is the top-coded 90.
AGE_BANDS = (17, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 91)
_EMPLOYED = (62, 132, 142, 140, 135, 115, 93, 68, 48, 32, 15, 8, 4, 2, 1, 1)
_PUBLIC = (12, 60, 105, 130, 150, 160, 145, 100, 72, 42, 14, 6, 3, 1, 1, 1)
_SELF = (4, 28, 70, 110, 140, 140, 130, 110, 95, 72, 45, 30, 14, 7, 3, 2)
AGES = {
    "Private": _EMPLOYED,
    "Self-emp-not-inc": _SELF,
    "Self-emp-inc": _SELF,
    "Federal-gov": _PUBLIC,
    "Local-gov": _PUBLIC,
    "State-gov": _PUBLIC,
    "Without-pay": (120, 120, 60, 60, 60, 60, 100, 60, 100, 100, 80, 60, 20, 0, 0, 0),
    "Never-worked": (600, 350, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "?": (170, 200, 80, 60, 50, 40, 38, 40, 55, 80, 80, 55, 30, 12, 6, 4),
}

RACES = ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
RACE_WEIGHTS = {  # by the kind of employer: (public, other)
    "public": (795, 150, 32, 15, 8),
    "other": (860, 90, 31, 10, 9),
}

COUNTRIES_BY_RACE: dict[str, dict[str, int]] = {
    "White": {
        "United-States": 9180, "Mexico": 215, "?": 140, "Germany": 42, "Canada": 40, "Cuba": 32,
        "England": 28, "Puerto-Rico": 32, "El-Salvador": 30, "Italy": 25, "Poland": 20, "Guatemala": 19,
        "Columbia": 16, "Iran": 13, "Portugal": 14, "Nicaragua": 9, "Peru": 8, "Greece": 11, "France": 9,
        "Ecuador": 7, "Ireland": 8, "Dominican-Republic": 9, "Yugoslavia": 6, "Hungary": 5, "Scotland": 5,
        "Honduras": 4, "Holand-Netherlands": 1, "India": 6, "South": 2,
    },
    "Black": {
        "United-States": 9250, "?": 190, "Jamaica": 240, "Haiti": 135, "Trinadad&Tobago": 55,
        "Dominican-Republic": 45, "England": 25, "Puerto-Rico": 30, "Germany": 15, "Honduras": 10,
        "Mexico": 5,
    },
    "Asian-Pac-Islander": {
        "United-States": 3000, "?": 450, "Philippines": 1850, "India": 900, "China": 750, "South": 750,
        "Vietnam": 650, "Japan": 500, "Taiwan": 480, "Hong": 190, "Cambodia": 180, "Laos": 170,
        "Thailand": 170, "Outlying-US(Guam-USVI-etc)": 120, "Iran": 20,
    },
    "Amer-Indian-Eskimo": {"United-States": 9600, "Mexico": 250, "?": 60, "South": 30, "Columbia": 60},
    "Other": {
        "United-States": 4900, "Mexico": 1500, "Puerto-Rico": 700, "Dominican-Republic": 800,
        "El-Salvador": 500, "Columbia": 350, "Ecuador": 250, "Iran": 250, "Nicaragua": 200, "Peru": 150,
        "Guatemala": 150, "Cuba": 100, "?": 150,
    },
}  # fmt: skip

EDUCATIONS = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
    "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip
# (first age, weights of education_num 1 … 16)
EDUCATION_BY_AGE = (
    (17, (0, 0, 2, 6, 40, 130, 330, 110, 230, 150, 1, 1, 0, 0, 0, 0)),
    (19, (0, 2, 4, 8, 12, 22, 35, 25, 330, 480, 30, 30, 6, 0, 0, 0)),
    (22, (1, 4, 9, 12, 14, 25, 35, 15, 330, 300, 45, 40, 170, 8, 2, 0)),
    (26, (1, 4, 9, 15, 12, 22, 28, 11, 320, 195, 50, 38, 185, 68, 20, 14)),
    (55, (3, 8, 16, 50, 22, 38, 32, 10, 345, 160, 30, 22, 140, 72, 24, 18)),
)

MARITAL = (
    "Married-civ-spouse", "Never-married", "Divorced", "Separated", "Widowed", "Married-spouse-absent",
    "Married-AF-spouse",
)  # fmt: skip
# (first age, weights of men, weights of women)
MARITAL_BY_AGE = (
    (17, (30, 955, 5, 4, 0, 5, 1), (30, 940, 12, 8, 1, 7, 2)),
    (22, (260, 690, 25, 12, 1, 10, 2), (110, 740, 90, 35, 2, 20, 3)),
    (27, (550, 350, 75, 15, 1, 8, 1), (190, 470, 230, 75, 6, 25, 4)),
    (34, (705, 140, 125, 18, 3, 9, 0), (200, 220, 430, 95, 30, 24, 1)),
    (45, (790, 60, 115, 15, 10, 10, 0), (190, 130, 440, 70, 145, 25, 0)),
    (60, (815, 40, 65, 10, 60, 10, 0), (150, 120, 230, 25, 460, 15, 0)),
)

OCCUPATIONS = (
    "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
    "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
    "Tech-support", "Transport-moving",
)  # fmt: skip
# (first education_num, weights of men, weights of women), before the employer's factor
OCCUPATION_BY_EDUCATION = (
    (1, (30, 1, 240, 35, 90, 140, 160, 130, 1, 8, 15, 55, 3, 120),
        (130, 0, 30, 30, 12, 45, 190, 360, 40, 15, 6, 120, 6, 12)),
    (9, (55, 1, 280, 75, 65, 95, 145, 70, 0, 12, 38, 90, 12, 120),
        (340, 0, 22, 85, 8, 25, 95, 205, 14, 25, 8, 145, 20, 10)),
    (10, (90, 1, 220, 130, 40, 55, 75, 65, 0, 60, 55, 130, 45, 65),
         (370, 0, 14, 125, 6, 12, 30, 130, 6, 95, 9, 130, 62, 6)),
    (13, (55, 1, 60, 300, 22, 14, 16, 25, 0, 215, 30, 210, 40, 14),
         (190, 0, 10, 230, 6, 5, 10, 45, 3, 340, 6, 110, 45, 3)),
    (14, (22, 1, 18, 240, 10, 4, 5, 10, 0, 590, 12, 65, 20, 5),
         (70, 0, 6, 190, 4, 2, 3, 20, 1, 650, 4, 35, 18, 1)),
)  # fmt: skip
OCCUPATION_FACTORS = {
    "Private": (100, 0, 100, 95, 50, 110, 115, 100, 120, 70, 25, 110, 100, 105),
    "Self-emp-not-inc": (12, 0, 190, 130, 800, 12, 15, 90, 0, 110, 5, 150, 15, 65),
    "Self-emp-inc": (30, 0, 80, 240, 250, 5, 10, 30, 0, 100, 8, 190, 20, 40),
    "Federal-gov": (260, 600, 55, 150, 15, 45, 30, 40, 0, 130, 65, 8, 160, 40),
    "Local-gov": (130, 0, 55, 95, 20, 30, 15, 160, 0, 330, 700, 4, 60, 100),
    "State-gov": (190, 0, 45, 120, 20, 20, 15, 120, 0, 260, 420, 6, 150, 40),
    "Without-pay": (80, 0, 20, 5, 800, 30, 20, 30, 0, 10, 0, 40, 0, 20),
}

# Hours away from the usual 40: {hours: weight}
SHORT_HOURS = {
    3: 2, 5: 4, 6: 3, 7: 2, 8: 8, 9: 1, 10: 18, 12: 10, 14: 2, 15: 22, 16: 12, 17: 2, 18: 5, 20: 72, 22: 3,
    24: 14, 25: 38, 26: 2, 27: 2, 28: 5, 30: 66, 32: 15, 33: 3, 34: 2, 35: 74, 36: 12, 37: 9, 38: 26, 39: 3,
}  # fmt: skip
LONG_HOURS = {
    41: 2, 42: 12, 43: 8, 44: 12, 45: 100, 46: 5, 47: 3, 48: 28, 49: 2, 50: 155, 52: 8, 53: 2, 54: 3, 55: 38,
    56: 6, 58: 2, 60: 82, 62: 1, 64: 1, 65: 14, 66: 1, 68: 1, 70: 17, 72: 4, 75: 4, 77: 1, 80: 8, 84: 3,
    90: 2, 98: 1, 99: 5,
}  # fmt: skip
# (short, long) per mille, before sex, age and occupation add to it
HOURS_BY_CLASS = {
    "Private": (150, 320), "Self-emp-not-inc": (190, 500), "Self-emp-inc": (60, 620),
    "Federal-gov": (70, 220), "Local-gov": (110, 250), "State-gov": (170, 230),
    "Without-pay": (420, 250), "Never-worked": (500, 60), "?": (330, 150),
}  # fmt: skip

# What moves income, in hundredths of log-odds
INCOME_OCCUPATION = (0, -10, 10, 80, -90, -70, -30, -95, -150, 60, 50, 25, 50, -10, -60)
INCOME_CLASS = {
    "Private": 0, "Self-emp-not-inc": -50, "Self-emp-inc": 25, "Federal-gov": 45, "Local-gov": -15,
    "State-gov": -20, "Without-pay": -300, "Never-worked": -500, "?": -20,
}  # fmt: skip
EARNING_MORE = 11_687
