"""Makes the constants of Inkstone's elementary functions, and the exact values that their test compares with.

Standard library only: decimal arithmetic, whose ln and exp are correctly rounded at any precision; sine, cosine and pi by
their series. A double is written as its bits, 16 hexadecimal digits.

    python3 tools/math/tables.py          compare both files with what they should be
    python3 tools/math/tables.py --write  write them
"""

import argparse
import pathlib
import struct
import sys
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, getcontext

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "crates/tensor/src/math/tables.rs"
FUNCTIONS = ROOT / "crates/tensor/tests/data/functions.txt"

DIGITS = 420  # the largest double has 309 before the point, and an angle must keep its digits behind it
getcontext().prec = DIGITS
getcontext().Emin, getcontext().Emax = -(10**9), 10**9


def bits(x: float) -> str:
    return format(struct.unpack("<Q", struct.pack("<d", x))[0], "016x")


def double(word: str) -> Decimal:
    return Decimal(struct.unpack("<d", struct.pack("<Q", int(word, 16)))[0])


def pair(x: Decimal) -> tuple[str, str]:
    """The nearest double, and the double nearest to the rest."""
    hi = float(x)
    return bits(hi), bits(float(x - Decimal(hi)))


def upper(x: Decimal, count: int) -> Decimal:
    """A positive number rounded to its `count` upper bits."""
    unit = Decimal(2) ** (count - 1)
    scale = Decimal(1)
    while x * scale < 1:
        scale *= 2
    while x * scale >= 2:
        scale /= 2
    return (x * scale * unit).to_integral_value(ROUND_HALF_EVEN) / unit / scale


def atan_inverse(n: int) -> Decimal:
    """atan(1 / n) by its series."""
    total, power, k = Decimal(0), Decimal(1) / n, 0
    while abs(power) > Decimal(10) ** -(DIGITS + 5):
        total += power / (2 * k + 1)
        power /= -n * n
        k += 1
    return total


PI = 4 * (4 * atan_inverse(5) - atan_inverse(239))  # Machin 1706
LN2 = Decimal(2).ln()


def sin_cos(x: Decimal) -> tuple[Decimal, Decimal]:
    """Reduced to at most pi / 4, then Taylor's series."""
    quarter = (x / (PI / 2)).to_integral_value(ROUND_HALF_EVEN)
    r = x - quarter * (PI / 2)
    series, term, k = [Decimal(0), Decimal(0)], Decimal(1), 0
    while abs(term) > Decimal(10) ** -(DIGITS + 5):
        series[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term = term * r / k
    cos, sin = series
    return [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][int(quarter) % 4]


def tanh(x: Decimal) -> Decimal:
    if abs(x) < Decimal(10) ** -60:
        return x - x**3 / 3
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def power(x: Decimal, y: Decimal) -> Decimal:
    """A negative number has whole powers only."""
    size = (y * abs(x).ln()).exp()
    return -size if x < 0 and y % 2 else size


FUNCTION = {
    "exp": lambda x: x.exp(),
    "ln": lambda x: x.ln(),
    "tanh": tanh,
    "sin": lambda x: sin_cos(x)[0],
    "cos": lambda x: sin_cos(x)[1],
    "pow": power,
}


def rows(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


def tables() -> str:
    ln2_32, two_over_pi = LN2 / 32, 2 / PI
    ln2_32_hi, ln2_hi = upper(ln2_32, 36), upper(LN2, 40)
    half_pi = pair(PI / 2)
    words = ["0" * 16]
    fraction = two_over_pi
    for _ in range(19):
        fraction *= 2**64
        word = fraction.to_integral_value(ROUND_FLOOR)
        fraction -= word
        words.append(format(int(word), "016x"))
    words = [f"0x{w}," for w in words]
    inverse = [" ".join(words[i : i + 4]) for i in range(0, 20, 4)]
    exp2 = [pair((LN2 * j / 32).exp()) for j in range(32)]
    ln = []
    for j in range(90, 183):
        c = upper(Decimal(128) / j, 10)
        ln.append((bits(float(c)), *pair(-c.ln())))

    def constant(name: str, doc: str, word: str) -> str:
        return f"/// {doc}\npub(super) const {name}: f64 = f64::from_bits(0x{word});\n"

    def entries(values: list[tuple[str, ...]]) -> str:
        return rows(["(" + ", ".join(f"0x{v}" for v in value) + ")," for value in values])

    return (
        "//! Constants of the functions, correctly rounded; `hi + lo` is the value to about 106 bits.\n"
        "//! Made by decimal arithmetic of 420 digits; the tests of this folder fail if one of them is off.\n\n"
        + constant(
            "LN2_32_HI",
            "The upper 36 bits of ln 2 / 32: its product with an integer below 2^17 is exact.",
            bits(float(ln2_32_hi)),
        )
        + constant("LN2_32_LO", "ln 2 / 32 less [`LN2_32_HI`].", bits(float(ln2_32 - ln2_32_hi)))
        + constant("INV_LN2_32", "32 / ln 2.", bits(float(32 / LN2)))
        + constant(
            "LN2_HI",
            "The upper 40 bits of ln 2: its product with an exponent is exact.",
            bits(float(ln2_hi)),
        )
        + constant("LN2_LO", "ln 2 less [`LN2_HI`].", bits(float(LN2 - ln2_hi)))
        + constant("HALF_PI_HI", "pi / 2, upper part.", half_pi[0])
        + constant("HALF_PI_LO", "pi / 2, lower part.", half_pi[1])
        + "\n/// The bits of 2 / pi after the point, the highest first, behind one word of zeros.\n#[rustfmt::skip]\n"
        + f"pub(super) const TWO_OVER_PI: [u64; 20] = [\n{rows(inverse)}];\n"
        + "\n/// 2^(j/32), upper and lower part.\n#[rustfmt::skip]\n"
        + f"pub(super) const EXP2: [(u64, u64); 32] = [\n{entries(exp2)}];\n"
        + "\n/// For j = 90 ..= 182: c, the 10 upper bits of 128 / j, and -ln c, upper and lower part.\n#[rustfmt::skip]\n"
        + f"pub(super) const LN: [(u64, u64, u64); 93] = [\n{entries(ln)}];\n"
    )


def functions(lines: list[str]) -> str:
    """Each line again from its function and arguments; what stands behind these is not looked at."""
    out = []
    for line in lines:
        name, *words = line.split()
        f = FUNCTION[name]
        arguments = words[: f.__code__.co_argcount]
        out.append(" ".join([name, *arguments, *pair(f(*map(double, arguments)))]) + "\n")
    return "".join(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing them")
    write = parser.parse_args().write
    differ = 0
    for path, text in [(TABLES, tables()), (FUNCTIONS, functions(FUNCTIONS.read_text().splitlines()))]:
        found = path.read_text()
        if write:
            path.write_text(text)
        elif found != text:
            different = [(a, b) for a, b in zip(found.splitlines(), text.splitlines()) if a != b]
            differ += max(1, len(different))
            print(f"{path.relative_to(ROOT)}: {len(different)} lines differ", file=sys.stderr)
            for a, b in different[:10]:
                print(f"  found  {a}\n  wanted {b}", file=sys.stderr)
        else:
            print(f"{path.relative_to(ROOT)}: {len(text.splitlines())} lines are as they should be")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
