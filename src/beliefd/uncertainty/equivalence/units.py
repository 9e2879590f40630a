"""Units: the dimension of each name and its factor. Temperatures also have an offset (`quantities`)."""

from typing import Final

_TABLE: Final = {
    "length": (
        "1 m metre meter; 1000 km kilometre kilometer; 0.01 cm centimetre centimeter; 0.001 mm millimetre "
        "millimeter; 1e-6 micrometre micrometer micron; 1e-9 nm nanometre nanometer; 1609.344 mi mile; "
        "0.3048 ft foot feet; 0.0254 inch inches; 0.9144 yd yard; 1852 nmi"
    ),
    "area": "1 m2 sqm; 1e6 km2; 10000 ha hectare; 4046.8564224 acre",
    "mass": (
        "1 kg kilogram kilo; 0.001 g gram gramme; 1e-6 mg milligram; 1e-9 mcg µg μg microgram; 1000 t tonne; "
        "0.45359237 lb pound; 0.028349523125 oz ounce; 6.35029318 stone"
    ),
    "volume": (
        "1 l litre liter; 0.001 ml millilitre milliliter; 0.01 cl centilitre; 100 hl; "
        "3.785411784 gal gallon; 0.473176473 pint"
    ),
    "time": (
        "1 s sec second; 60 min minute; 3600 h hr hour; 86400 day; 604800 week; 1209600 fortnight; "
        "0.001 ms msec millisecond; 1e-6 us µs μs microsecond; 1e-9 ns nanosecond"
    ),
    "months": "1 month; 3 qtr; 12 year yr; 120 decade; 1200 century centuries; 12000 millennium millennia",
    "bytes": (
        "1 byte; 1e3 kb kilobyte; 1e6 mb megabyte; 1e9 gb gigabyte gig; 1e12 tb terabyte; 1e15 pb petabyte; "
        "1024 kib; 1048576 mib; 1073741824 gib; 1099511627776 tib"
    ),
    "bit rate": (
        "1e3 kbps kbit; 1e6 mbps mbit megabit; 1e9 gbps gbit gigabit; 1e12 tbps tbit"
    ),
    "share": "0.01 % percent pct; 0.001 permille ‰; 1e-6 ppm; 0.0001 bps bp bip",
    "kelvin": "1 kelvin",
    "volts": "1 v volt; 0.001 mv millivolt; 1000 kv kilovolt",
    "amperes": "1 amp ampere; 0.001 ma milliamp",
    "watts": "1 w watt; 0.001 mw milliwatt; 1000 kw kilowatt; 1e6 megawatt; 1e9 gw gigawatt",
    "energy": "1 joule; 1000 kj; 3.6e6 kwh; 4184 kcal; 4.184 calorie",
    "hertz": "1 hz hertz; 1e3 khz; 1e6 mhz; 1e9 ghz",
    "dollars": "1 $ usd dollar buck; 0.01 cent",
    "euros": "1 € eur euro",
    "pounds sterling": "1 £ gbp quid",
    "yen": "1 ¥ jpy yen",
    "francs": "1 chf franc",
    "rupees": "1 ₹ inr rupee",
    "pressure": "1 pa pascal; 1000 kpa; 1e5 bar; 133.322 mmhg; 6894.757 psi",
    "speed": "1 kph kmh; 1.609344 mph; 1.852 knot",
    "amount": "1 mol mole; 0.001 mmol millimole",
}  # fmt: skip
UNITS: Final[dict[str, tuple[str, float]]] = {
    name: (dimension, float(factor))
    for dimension, rows in _TABLE.items()
    for factor, *names in (row.split() for row in rows.split(";"))
    for one in names
    for name in (one, one + "s") if name not in ("ls", "ms", "as", "gs", "ss") or name == one
}  # fmt: skip
MONEY: Final = frozenset({"dollars", "euros", "pounds sterling", "yen", "francs", "rupees"})
CELSIUS: Final = frozenset({"c", "°c", "celsius", "centigrade"})
FAHRENHEIT: Final = frozenset({"f", "°f", "fahrenheit"})
DEGREES: Final = frozenset({"degree", "degrees", "°", "deg"})
WHOLE: Final = frozenset(
    name for name, (dimension, _) in UNITS.items()
    if dimension in ("time", "months", "length", "mass", "volume") and len(name) > 3 and name.isalpha()
) | {"day"}  # fmt: skip
"""Names that cannot be anything else: behind `a` or `per` they count without a number."""
