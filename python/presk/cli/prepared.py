"""Weights of a training, with what it did to its data done to the inputs given beside them.

A training that standardized a field of its batch has weights that mean nothing to raw numbers; one whose labels became
nats answers in nats. Both stand in the weights' metadata. What is applied is said on stderr, and so is what can't be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import click

from presk.api.compiled import Compiled
from presk.cli.inputs import read_weights
from presk.run import trees
from presk.shapes import types
from presk.shapes.types import Type
from presk.train.preparation import LABELS, Preparation

LABELLED = 1000
"""Predictions up to which text names each."""


def with_weights(
    compiled: Compiled, path: str, given: Mapping[str, Any], *, raw: bool, quiet: bool
) -> tuple[dict[str, Any], Preparation]:
    """The inputs given, standardized as the training's were unless `raw`, with the weights beside them."""
    tree, metadata = read_weights(compiled, path, given)
    preparation = Preparation.from_metadata(metadata)
    prepared = dict(given)
    for name in preparation.scaling:
        prepared, applied = _standardized(prepared, name, preparation, raw)
        if not quiet and given:
            click.echo(f"note: {_told(name, applied, raw)}", err=True)
    if not quiet:
        for name in preparation.labels:
            click.echo(f"note: the labels of `{name}`: {preparation.listed(name)}", err=True)
    return {**prepared, **tree}, preparation


def _standardized(
    given: dict[str, Any], name: str, preparation: Preparation, raw: bool
) -> tuple[dict[str, Any], list[str]]:
    """The inputs with the field `name`, a parameter or in a record, standardized; and the paths of those."""
    prepared, found = dict(given), list[str]()
    for parameter, value in given.items():
        if parameter == name and not isinstance(value, dict | tuple):
            found.append(name)
            prepared[name] = value if raw else preparation.standardize(value, name)
        elif isinstance(value, dict) and name in value:
            fields = cast("dict[str, Any]", value)
            found.append(f"{parameter}.{name}")
            prepared[parameter] = fields if raw else {**fields, name: preparation.standardize(fields[name], name)}
    return prepared, found


def _told(name: str, found: list[str], raw: bool) -> str:
    if not found:
        return (
            f"the training standardized `{name}`, and no input given is called so: give what stands for it "
            "standardized too (presk.Preparation does it)"
        )
    shown = " and ".join(f"`{each}`" for each in found)
    if raw:
        return f"{shown} isn't standardized, as the training's `{name}` was (--raw)"
    return f"{shown} is standardized as the training's `{name}` was; --raw takes it as it is"


def named_predictions(result: object, of: Type, preparation: Preparation) -> dict[tuple[str, ...], tuple[str, Any]]:
    """The leaves of a result that are nats below the number of a field's labels: the field, and their labels.

    Where several fields have as many labels there is no telling, and none are named.
    """
    found: dict[tuple[str, ...], tuple[str, Any]] = {}
    for (path, tensor), (_, leaf) in zip(types.leaves(of), trees.leaves(result), strict=True):
        bound = None if tensor.bound is None else tensor.bound.whole
        fields = [name for name, labels in preparation.labels.items() if len(labels) == bound]
        if tensor.kind == "nat" and len(fields) == 1:
            found[path] = fields[0], preparation.names(leaf, fields[0])
    return found


def as_lines(result: object, of: Type, preparation: Preparation) -> list[str]:
    """The predictions by label, a line for each such leaf of the result."""
    lines: list[str] = []
    for path, (field, names) in named_predictions(result, of, preparation).items():
        if names.size <= LABELLED:
            shown = ", ".join(names.ravel().tolist())
            lines.append(f"{'.'.join(path) + ': ' if path else ''}{field} = {shown}")
    return lines


def with_labels(data: object, result: object, of: Type, preparation: Preparation) -> object:
    """The result as JSON has it, with the labels of its predictions beside their numbers."""
    for path, (_, names) in named_predictions(result, of, preparation).items():
        leaf = data
        for part in path:
            leaf = cast("dict[str, object]", leaf)[part]
        cast("dict[str, object]", leaf)[LABELS] = names.tolist()
    return data
