"""A table of a database by its URL, as in `duckdb:///loans.duckdb#loans`: what the text says, told without opening anything."""

from __future__ import annotations

from pathlib import Path

IN_FILES = ("duckdb:///", "sqlite:///")
"""Beginnings of URLs whose rest is a file."""


def is_database(source: object) -> bool:
    """Whether a source is a database's URL with a table or query behind a `#`.

    >>> is_database("duckdb:///loans.duckdb#loans"), is_database("loans.csv")
    (True, False)
    """
    return isinstance(source, str) and "://" in source and not source.startswith(("http://", "https://")) and "#" in source


def database_file(url: str) -> Path:
    """The file of a database that is one; else a path that stands for its name.

    >>> database_file("sqlite:///data/loans.sqlite#select * from loans").as_posix()
    'data/loans.sqlite'
    """
    address = url.partition("#")[0]
    start = next((start for start in IN_FILES if address.startswith(start)), None)
    return Path(address.removeprefix(start)) if start is not None else Path(Path(address.partition("?")[0]).stem or "database")


def seen_from(url: str, folder: Path) -> str:
    """The same database, whose file, where it has one and its path is relative, is looked for in the folder.

    >>> seen_from("duckdb:///loans.duckdb#loans", Path("/data"))
    'duckdb:////data/loans.duckdb#loans'
    """
    start = next((start for start in IN_FILES if url.startswith(start)), None)
    if start is None or database_file(url).is_absolute():
        return url
    return f"{start}{(folder / database_file(url)).absolute().as_posix()}#{url.partition('#')[2]}"
