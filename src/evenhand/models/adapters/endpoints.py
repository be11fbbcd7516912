"""HTTP endpoints: a URL or an `HttpModel`, asked about rows, pictures or texts; a recognition service by template, asked about scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.contract import Model
from evenhand.models.http import SETTLING_ROWS, Endpoint, EndpointReader, HttpModel, HttpTemplate, amount_endpoint
from evenhand.models.model_wishes import ModelWishes
from evenhand.models.trial_rows import PAID_TRIAL


def accepts(given: Any) -> bool:
    """An address, settings, a template, or a YAML file that holds one."""
    if isinstance(given, Path):
        return given.suffix.lower() in (".yaml", ".yml")
    return isinstance(given, HttpModel | HttpTemplate) or (isinstance(given, str) and given.startswith(("http://", "https://")))


def adapt(given: Any, wishes: ModelWishes) -> Model:
    """Asked about what the medium shows."""
    if isinstance(given, Path):
        given = HttpTemplate.from_yaml(given)
    if wishes.asked == "scenes":
        if isinstance(given, HttpModel):
            raise wishes.refuse("an HttpModel", "give an HttpTemplate, which says where objects are in an answer")
        return wishes.behind(given if isinstance(given, HttpTemplate) else HttpTemplate(given))
    if isinstance(given, HttpTemplate):
        raise wishes.refuse("a recognition template", "give an HttpModel or a URL")
    settings = given if isinstance(given, HttpModel) else HttpModel(given, preset=wishes.preset)
    settings = settings if settings.returns is not None else replace(settings, returns=wishes.returns)
    if wishes.asked == "rows" and wishes.domain.label is not None and wishes.domain.label.is_amount:
        return amount_endpoint(settings, wishes.domain, wishes.output)
    if wishes.asked == "rows":
        return Endpoint(settings, wishes.domain, wishes.classes, wishes.trial(PAID_TRIAL if wishes.data is not None else SETTLING_ROWS))
    return wishes.behind(EndpointReader(settings, wishes.names, wishes.settled))
