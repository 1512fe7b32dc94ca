r"""Units of measurement: SI, common ones, currencies, and any noun that is counted ("6 apples").

A unit is a product of powers of base dimensions with an exact scale; a noun that is no unit is a dimension of its own,
and so are currencies. "unit", "units" and the like fit everything. Two units are comparable when their
dimensions agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from grpo_rewards.math.guard import UnreadableError

_PREFIXES = {
    "Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1, "d": -1, "c": -2, "m": -3,
    "u": -6, "\u00b5": -6, "\u03bc": -6, "n": -9, "p": -12, "f": -15, "a": -18,
}  # fmt: skip
_PREFIX_WORDS = {
    "tera": 12, "giga": 9, "mega": 6, "kilo": 3, "hecto": 2, "deci": -1, "centi": -2, "milli": -3, "micro": -6,
    "nano": -9, "pico": -12, "femto": -15,
}  # fmt: skip

_SI = """
m|meter|metre = length
g|gram|gramme = 1/1000 mass
s|sec|second = time
A|amp|ampere = current
K|kelvin = temperature
mol|mole = amount
cd|candela = luminosity
N|newton = mass length time^-2
J|joule = mass length^2 time^-2
W|watt = mass length^2 time^-3
Pa|pascal = mass length^-1 time^-2
Hz|hertz = time^-1
C|coulomb = current time
V|volt = mass length^2 time^-3 current^-1
ohm|\u03a9|\u2126|Ohm = mass length^2 time^-3 current^-2
S|siemens = mass^-1 length^-2 time^3 current^2
F|farad = mass^-1 length^-2 time^4 current^2
Wb|weber = mass length^2 time^-2 current^-1
T|tesla = mass time^-2 current^-1
H|henry = mass length^2 time^-2 current^-2
L|l|liter|litre = 1/1000 length^3
eV|electronvolt = 1602176634/10000000000000000000000000000 mass length^2 time^-2
bar = 100000 mass length^-1 time^-2
Bq|becquerel = time^-1
Gy|gray = length^2 time^-2
cal|calorie = 4184/1000 mass length^2 time^-2
t|tonne = 1000 mass
pc|parsec = 30856775814913673 length
"""
"""Units that take prefixes: names = scale and dimensions in SI base units."""

_COMMON = """
min|minute = 60 time
h|hr|hour = 3600 time
day = 86400 time
wk|week = 604800 time
month|mo = months
yr|year = 12 months
decade = 120 months
century|centuries = 1200 months
inch|inches|in = 127/5000 length
ft|foot|feet = 381/1250 length
yd|yard = 1143/1250 length
mi|mile = 201168/125 length
mph = 1397/3125 length time^-1
kph|kmph = 5/18 length time^-1
acre = 316160658/78125 length^2
hectare|ha = 10000 length^2
oz|ounce = 45359237/1600000000 mass
lb|lbs|pound = 45359237/100000000 mass
ton = 45359237/50000 mass
gal|gallon = 473176473/125000000000 length^3
quart|qt = 473176473/500000000000 length^3
pint|pt = 473176473/1000000000000 length^3
cup = 473176473/2000000000000 length^3
tbsp|tablespoon = 473176473/32000000000000 length^3
tsp|teaspoon = 157725491/32000000000000 length^3
atm|atmosphere = 101325 mass length^-1 time^-2
degree|deg|\u00b0 = angle
rad|radian = radians
rev|revolution|turn = 360 angle
arcmin|arcminute = 1/60 angle
arcsec|arcsecond = 1/3600 angle
celsius|degC = celsius
fahrenheit|degF = fahrenheit
$|dollar|buck|usd|us dollar = dollars
cent|\u00a2|penny|pennies|c\u0131nt = 1/100 dollars
dime = 1/10 dollars
nickel = 1/20 dollars
quarter = 1/4 dollars
euro|eur|\u20ac = euros
gbp|\u00a3|pound sterling = sterling
yen|jpy|\u00a5|yuan|rmb|cny = yen
rupee|rs|inr|\u20b9 = rupees
%|percent|per cent|pct = percent
person|people|persons = person
child|children = child
man|men = man
woman|women = woman
dozen|doz = dozen
byte|B = 8 bits
bit = bits
rpm = 6 angle time^-1
ly|light year|lightyear|light-year = 9460730472580800 length
au|astronomical unit = 149597870700 length
angstrom|\u00c5 = 1/10000000000 length
erg = 1/10000000 mass length^2 time^-2
dyn|dyne = 1/100000 mass length time^-2
gauss = 1/10000 mass time^-2 current^-1
"""

_NEUTRAL = {"unit", "sq unit", "square unit", "cubic unit", "units", "total", "altogether", "in all"}
"""What fits every unit: "5 square units"."""

_POWER_WORDS = {"square": 2, "sq": 2, "sq.": 2, "cubic": 3, "cu": 3, "cu.": 3}
_POWER_SUFFIXES = {"squared": 2, "cubed": 3}
_ITEM = re.compile(r"([^\s\d^*/\u00b7.]+\.?)(?:\^?\{?\(?([+-]?\d+)\)?\}?)?")


@dataclass(frozen=True)
class Unit:
    """A unit of measurement.

    Attributes:
        scale: How many base units it is.
        dimensions: Base dimension -> exponent, without zeros.
        neutral: Whether it fits everything.
    """

    scale: Fraction = Fraction(1)
    dimensions: dict[str, int] = field(default_factory=dict)
    neutral: bool = False

    def __mul__(self, other: Unit) -> Unit:
        if self.neutral or other.neutral:
            return Unit(neutral=True)
        dimensions = dict(self.dimensions)
        for name, exponent in other.dimensions.items():
            dimensions[name] = dimensions.get(name, 0) + exponent
        return Unit(self.scale * other.scale, {name: power for name, power in dimensions.items() if power})

    def __pow__(self, exponent: int) -> Unit:
        if abs(exponent) > 12:
            raise UnreadableError(f"a unit to the power {exponent}")
        powers = {name: power * exponent for name, power in self.dimensions.items()} if exponent else {}
        return Unit(self.scale**exponent, powers, self.neutral)

    def fits(self, other: Unit) -> bool:
        """Whether quantities in the two units can be compared."""
        return self.neutral or other.neutral or self.dimensions == other.dimensions


def read_unit(words: str) -> Unit:
    """Return the unit that these words name; unknown nouns become dimensions of their own.

    Args:
        words: As written, e.g. "cm^2", "miles per hour", "kg m/s^2", "square inches", "apples".
    """
    text = " ".join(words.replace("\u2019", "'").split())
    known = _single(text)
    if known is not None:
        return known
    total, sign = Unit(), 1
    for piece in re.split(r"(\bper\b|\ban?\b(?= )|/|[*\u00b7])", text):
        piece = piece.strip(" .")
        if piece in ("per", "/", "a", "an"):
            sign = -1
        elif piece and piece not in "*\u00b7":
            total = total * _product(piece) ** sign
    return total


def is_unit(word: str) -> bool:
    """Whether a word is a unit that we know, not just a noun."""
    return _single(word) is not None


def _product(text: str) -> Unit:
    """Read units side by side: "kg m", "square inches", "inches squared", "light years"."""
    known = _single(text)
    if known is not None:
        return known
    total, power, words = Unit(), 1, []
    for name, exponent in _ITEM.findall(text):
        bare = name.rstrip(".").lower()
        if bare in _POWER_WORDS:
            power = _POWER_WORDS[bare]
            continue
        if bare in _POWER_SUFFIXES:
            total = total ** _POWER_SUFFIXES[bare]
            continue
        unit = _single(name)
        if unit is None:
            words.append(_singular(bare))
            continue
        total, power = total * unit ** (power * int(exponent[:3] or 1)), 1
    return total * Unit(dimensions={" ".join(words): 1}) if words else total


def _single(word: str) -> Unit | None:
    word = word.strip().rstrip(".")
    lower = word.lower()
    if lower in _NEUTRAL:
        return Unit(neutral=True)
    for form in (word, lower, _singular(lower)):
        if form in _TABLE:
            return _TABLE[form]
    return None


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and len(word) > 3 and not word.endswith("ss") else word


def _definition(text: str) -> Unit:
    scale, dimensions = Fraction(1), {}
    for part in text.split():
        name, _, exponent = part.partition("^")
        if name[0].isdigit():
            scale *= Fraction(name)
        else:
            dimensions[name] = int(exponent or 1)
    return Unit(scale, dimensions)


def _table() -> dict[str, Unit]:
    table: dict[str, Unit] = {}
    for lines, prefixed in ((_SI, True), (_COMMON, False)):
        for line in lines.strip().splitlines():
            names, _, definition = line.partition(" = ")
            unit = _definition(definition)
            for name in names.split("|"):
                table[name] = unit
                if prefixed:
                    prefixes = _PREFIXES if len(name) <= 3 and name not in ("sec", "amp") else _PREFIX_WORDS
                    for prefix, power in prefixes.items():
                        scaled = Unit(unit.scale * Fraction(10) ** power, unit.dimensions)
                        table.setdefault(prefix + name, scaled)
    table["kg"] = Unit(Fraction(1), {"mass": 1})
    for name in ("min", "day", "ft", "pt", "cd", "ha", "mph", "Pa", "yd"):  # these are no prefixed units
        line = next((ln for ln in (_COMMON + _SI).splitlines() if name in ln.partition(" = ")[0].split("|")), "")
        table[name] = _definition(line.partition(" = ")[2])
    return table


_TABLE = _table()
