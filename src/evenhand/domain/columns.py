"""One column: its kind, its range or values, and the exact way between cells and codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from evenhand.arrays import Index, Mask, Reals
from evenhand.domain import moments
from evenhand.errors import DataError, DomainError

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["category", "ordinal", "integer", "real", "boolean", "date", "datetime"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Value: TypeAlias = str | int | float | bool

LARGEST_EXACT_INTEGER = 2**53
"""Integers beyond this are not exact as float64 codes; a column of them lists its values instead."""


@dataclass(frozen=True)
class Column:
    """What a cell may be.  Listed kinds (category, ordinal, boolean) have values; numbers, dates and times have a range.

    Codes of dates are days, codes of times are seconds, both counted from the beginning of 1970.

    `missing` is the share of missing cells that the data shows; 0 means that a cell may not be missing.
    `dtype` is the pandas dtype that decoded cells get back.
    `reserve` is a number of whole codes above `high` that a medium hands out for what a method makes: they count as inside, but
    nothing draws them or clips to them.

    >>> Column("age", "integer", low=18, high=95).high
    95
    >>> Column("sex", "category", ("female", "male")).values
    ('female', 'male')
    """

    name: str
    kind: Kind
    values: tuple[Value, ...] = ()
    low: float | int | None = None
    high: float | int | None = None
    missing: float = 0.0
    dtype: str = ""
    reserve: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise DomainError(f"column {self.name!r}: {fault}")

    def _faults(self) -> list[str]:
        if self.kind not in KINDS:
            return [f"kind={self.kind!r} must be one of {', '.join(KINDS)}"]
        if not 0.0 <= self.missing <= 1.0:
            return [f"missing={self.missing!r} must be a share between 0 and 1"]
        if self.reserve and self.kind != "integer":
            return [f"reserve={self.reserve!r}: only an integer column holds codes in reserve"]
        return self._faults_of_list() if self.is_listed else self._faults_of_range()

    def _faults_of_list(self) -> list[str]:
        if not self.values and self.missing < 1.0:
            return [f"a {self.kind} column needs values"]
        if len(self._places) != len(self.values):
            twice = next(v for i, v in enumerate(self.values) if self._places[_identity(v)] != i)
            return [f"value {twice!r} is listed twice"]
        if self.kind == "boolean" and len(self.values) > 2:
            return [f"a boolean column has at most two values, not {len(self.values)}"]
        return []

    def _faults_of_range(self) -> list[str]:
        if self.low is None or self.high is None:
            return [f"a column of kind {self.kind} needs low and high"]
        if not (abs(self.low) <= sys.float_info.max and abs(self.high) <= sys.float_info.max):
            return [f"low={self.low!r} and high={self.high!r} must be finite numbers"]
        if self.low > self.high:
            return [f"low={self.low!r} is above high={self.high!r}"]
        if self.kind == "integer" and max(abs(self.low), abs(self.high)) > LARGEST_EXACT_INTEGER:
            return ["integers beyond 2**53 are not exact as numbers; use kind: ordinal and list the values"]
        if self.reserve and not self.highest < self.ceiling <= LARGEST_EXACT_INTEGER:
            return [f"reserve={self.reserve!r} must be at least 0, and the last code at most 2**53"]
        if self.kind != "real" and (self.low != int(self.low) or self.high != int(self.high)):
            return [f"low={self.low!r} and high={self.high!r} of a column of kind {self.kind} must be whole numbers"]
        return []

    @property
    def is_listed(self) -> bool:
        """Whether codes are positions in `values`."""
        return self.kind in ("category", "ordinal", "boolean")

    @property
    def is_moment(self) -> bool:
        """Whether cells are dates or times."""
        return self.kind in moments.SECONDS

    @property
    def is_integral(self) -> bool:
        """Whether every code is a whole number."""
        return self.kind != "real"

    @property
    def lowest(self) -> float:
        """The smallest code."""
        return 0.0 if self.is_listed else float(self.low)  # type: ignore[arg-type]

    @property
    def highest(self) -> float:
        """The largest code; below the smallest where every cell is missing."""
        return float(len(self.values) - 1) if self.is_listed else float(self.high)  # type: ignore[arg-type]

    @property
    def ceiling(self) -> float:
        """The largest code that is inside: above the highest one where codes are held in reserve."""
        return self.highest + self.reserve

    @property
    def cardinality(self) -> int | None:
        """How many different codes there are, a missing cell being one of them; None for real numbers."""
        if not self.is_integral:
            return None
        return int(self.highest - self.lowest) + 1 + (self.missing > 0)

    @cached_property
    def _places(self) -> dict[tuple[str, Value], int]:
        return {_identity(value): place for place, value in enumerate(self.values)}

    def code(self, value: object) -> float:
        """The code of one cell, with an error that names what was expected."""
        if _is_missing(value):
            return float("nan")
        if self.is_moment:
            return moments.code_of(value, self.kind, self.name)
        if not self.is_listed:
            if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
                raise DataError(f"column {self.name!r}: {value!r} is not a number")
            return float(value)
        place = self._place(value)
        if place is None:
            raise DataError(f"column {self.name!r}: {value!r} is not one of {listing(self.values)}")
        return float(place)

    def _place(self, value: object) -> int | None:
        exact = self._places.get(_identity(value))
        if exact is not None or isinstance(value, str):
            return exact
        if self.kind == "boolean" and isinstance(value, bool) and all(isinstance(known, str) for known in self.values):
            # A database holds truth values where the model was trained on words: `values: ["no", "yes"]` then says which words.
            return next((i for i, known in enumerate(self.values) if truth_of(known) is value), None)
        # 1, 1.0 and True are different cells only where the column lists more than one of them.
        return next((i for i, known in enumerate(self.values) if not isinstance(known, str) and known == value), None)

    def value(self, code: float) -> Value | None:
        """The cell that a code stands for; None when it is missing."""
        if np.isnan(code):
            return None
        if self.is_listed:
            return self.values[int(code)]
        if self.is_moment:
            return moments.text_of(code, self.kind)
        return int(code) if self.kind == "integer" else float(code)

    def cells(self, codes: Reals) -> list[Value | None]:
        """The cells that many codes stand for, as plain values.

        >>> Column("sex", "category", ("f", "m")).cells(np.array([1.0, 0.0, np.nan]))
        ['m', 'f', None]
        """
        if self.is_moment:
            return [self.value(code) for code in codes]
        known: Any = self.values.__getitem__ if self.is_listed else (lambda number: number)
        is_whole = self.is_listed or self.kind == "integer"
        return [None if code != code else known(int(code) if is_whole else code) for code in codes.tolist()]

    def encode(self, cells: pd.Series) -> Reals:
        """Cells to codes.  Cells that the column does not know raise, naming the first row."""
        if self.is_listed:
            codes = self._encode_listed(cells)
            missing = np.isnan(codes)
        else:
            missing = np.asarray(cells.isna(), dtype=bool)
            codes = moments.encode(cells, missing, self.kind, self.dtype) if self.is_moment else self._encode_numbers(cells, missing)
        if missing.any() and self.missing == 0.0:
            row = int(np.flatnonzero(missing)[0])
            raise DataError(f"column {self.name!r}, row {row}: the cell is missing, but the column allows no missing cells")
        return codes

    def _encode_numbers(self, cells: pd.Series, missing: Mask) -> Reals:
        import pandas as pd

        if isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iuf":
            return cells.to_numpy(dtype=np.float64)
        codes = np.full(len(cells), np.nan)
        try:
            codes[~missing] = pd.to_numeric(cells[~missing]).to_numpy(dtype=np.float64)
        except (ValueError, TypeError):
            for row in np.flatnonzero(~missing):
                try:
                    float(cells.iloc[row])
                except (ValueError, TypeError):
                    raise DataError(f"column {self.name!r}, row {row}: {cells.iloc[row]!r} is not a number (kind: {self.kind})") from None
            raise
        return codes

    def _encode_listed(self, cells: pd.Series) -> Reals:
        places, distinct = _factorised(cells)
        table = [-1 if (p := self._place(_plain(v))) is None else p for v in distinct]
        codes: Reals = np.array([*table, np.nan])[places]  # -1, of a missing cell, is the last entry
        if (unknown := np.flatnonzero(codes == -1)).size:
            row = int(unknown[0])
            raise DataError(
                f"column {self.name!r}, row {row}: {_plain(cells.iloc[row])!r} is not one of {listing(self.values)}"
                + (f" ({unknown.size} such rows)" if unknown.size > 1 else "")
            )
        return codes

    def decode(self, codes: Reals) -> pd.Series:
        """Codes to cells of the column's own dtype."""
        import pandas as pd

        missing = np.isnan(codes)
        if self.is_listed:
            return self._decode_listed(codes, missing)
        if self.is_moment:
            return moments.decode(codes, self.kind, self.dtype, self.name)
        series = pd.Series(codes, name=self.name)
        if self.dtype == "object" and self.kind == "integer":
            cells = np.where(missing, 0.0, codes).astype(np.int64).astype(object)
            return pd.Series(cells, name=self.name, dtype=object).mask(missing, np.nan)
        dtype = self.dtype or ("int64" if self.kind == "integer" else "float64")
        if missing.any() and dtype.lower().startswith(("int", "uint")):
            dtype = dtype.replace("uint", "UInt").replace("int", "Int") if dtype[0].islower() else dtype
        return series.astype(dtype)  # type: ignore[call-overload, no-any-return]

    def _decode_listed(self, codes: Reals, missing: Mask) -> pd.Series:
        import pandas as pd

        places = np.where(missing, len(self.values), codes).astype(np.intp)
        if self.dtype.startswith("category"):
            inner = self.dtype[len("category[") : -1] or None
            categories = pd.Index(list(self.values), dtype=inner)
            chosen = pd.CategoricalDtype(categories, ordered=self.kind == "ordinal")
            return pd.Series(pd.Categorical.from_codes(np.where(missing, -1, places), dtype=chosen), name=self.name)
        cells = pd.Series(self._value_table[places], name=self.name, dtype=object)
        # Before pandas 3, "str" meant Python's str(), which turns a missing cell into the text 'nan'.
        if self.dtype in ("", "object") or (self.dtype == "str" and int(pd.__version__.split(".")[0]) < 3):
            return cells
        dtype = self.dtype
        if missing.any() and dtype.startswith(("int", "uint", "bool")) and "[" not in dtype:
            dtype = {"bool": "boolean"}.get(dtype, dtype.replace("uint", "UInt").replace("int", "Int"))
        return cells.astype(pd.api.types.pandas_dtype(dtype))

    @cached_property
    def _value_table(self) -> np.ndarray[Any, Any]:
        table = np.empty(len(self.values) + 1, dtype=object)
        table[:-1] = self.values
        table[-1] = np.nan
        return table

    def inside(self, codes: Reals) -> Mask:
        """Which codes the column allows."""
        with np.errstate(invalid="ignore"):
            fine = (codes >= self.lowest) & (codes <= self.ceiling)
            if self.is_integral:
                fine &= codes == np.rint(codes)
        if self.is_listed and not self.values:
            fine[:] = False
        return fine | np.isnan(codes) if self.missing > 0 else fine


SPELLINGS = (
    ("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on"), ("nein", "ja"), ("non", "oui"), ("no", "si"), ("nao", "sim"),
    ("nee", "ja"), ("nie", "tak"), ("nej", "ja"), ("нет", "да"), ("否", "是"), ("いいえ", "はい"), ("0", "1"),
    ("falsch", "wahr"), ("faux", "vrai"), ("falso", "vero"), ("falso", "verdadero"), ("falso", "verdadeiro"), ("onwaar", "waar"),
    ("falsk", "sann"), ("nei", "ja"), ("ne", "da"), ("ne", "ano"), ("ei", "kylla"), ("nem", "igen"), ("nu", "da"), ("ложь", "истина"),
    ("ні", "так"), ("아니오", "예"), ("لا", "نعم"), ("tidak", "ya"), ("khong", "co"), ("n", "j"), ("n", "o"), ("n", "s"), ("f", "v"),
)  # fmt: skip
"""Two words that say no and yes, in this order."""

_OF_ONE_TYPE = ("string", "boolean", "empty")
"""Kinds of object columns, as pandas names them, whose equal cells are surely the same cell; whole numbers may hide two types."""


def _factorised(cells: pd.Series) -> tuple[Index, Sequence[Any]]:
    """The place of each cell among the distinct ones, -1 of a missing cell: only the distinct ones need a look-up in Python."""
    import pandas as pd

    plain = cells.astype(object) if not isinstance(cells.dtype, np.dtype) else cells
    if plain.dtype != object or pd.api.types.infer_dtype(plain, skipna=True) in _OF_ONE_TYPE:
        places, distinct = pd.factorize(plain)
        return places, list(distinct)
    missing = np.asarray(cells.isna(), dtype=bool)
    places = np.full(len(cells), -1, dtype=np.intp)
    places[~missing], keyed = pd.factorize(pd.Series([_identity(v) for v in plain[~missing]], dtype=object))
    return places, [value for _, value in keyed]


def listing(values: Sequence[object], most: int = 8) -> str:
    """A few values for a message."""
    shown = ", ".join(repr(v) for v in values[:most])
    return f"[{shown}{', ...' if len(values) > most else ''}]"


def truth_of(value: object) -> bool | None:
    """What a word says, yes or no; None where it says neither, or either."""
    word = str(value).strip().lower()
    sides = {place for pair in SPELLINGS for place, spelled in enumerate(pair) if spelled == word}
    return bool(sides.pop()) if len(sides) == 1 else None


def _identity(value: object) -> tuple[str, Any]:
    """1, 1.0, True and "1" are four different cells."""
    return type(value).__name__, value


def _plain(value: object) -> object:
    """A NumPy scalar as the Python value that a YAML file would hold."""
    return value.item() if isinstance(value, np.generic) else value


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value))) or type(value).__name__ == "NAType"
