"""Train blocks with some of their keys given otherwise: `--set batch=16`, `--set lr.peak=1e-3`.

A value is a PSK expression and takes the place of what the file has, or is added; behind a dot stands a keyword of an
optimizer, a rate or a data source. The block is then read like one in a file. Called by the Python API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from presk.check.bound import BoundConstants
from presk.check.program import Checked
from presk.check.recipes import RATES
from presk.check.training import TrainBlock, read_block
from presk.syntax import tree
from presk.syntax.parser import parse_expression
from presk.text.diagnostics import PreskError, did_you_mean, fail
from presk.text.spans import Source


def override(checked: Checked, block: TrainBlock, changes: Mapping[str, str]) -> TrainBlock:
    """The block with these keys changed. E8020 to E8028 as for a block in a file, E8078 for a keyword of a number."""
    if not changes:
        return block
    node = block.file.trains[block.name].node
    assert isinstance(node, tree.Train), "the declaration of a train block"
    for key, text in changes.items():
        node = _changed(node, key, parse_expression(Source(f"--set {key}", text), in_train=True))
    values = BoundConstants(checked.files, checked.overrides)
    found, diagnostics = read_block(checked.session, values, block.file, node)
    if found is None:
        raise PreskError(diagnostics)
    return found


def _changed(node: tree.Train, key: str, value: tree.Expr) -> tree.Train:
    """The block with one key, or one keyword of a key, replaced or added."""
    name, dot, keyword = key.partition(".")
    place = next((at for at, item in enumerate(node.items) if item.key == name), None)
    if not dot:
        item = tree.TrainItem(value.span, name, value.span, value)
        rest = node.items[:place] + node.items[place + 1 :] if place is not None else node.items
        return replace(node, items=(*rest, item))
    if place is None:
        hint = did_you_mean(name, [item.key for item in node.items])
        raise fail("E8078", f"`{node.name}` has no `{name}` to set `{keyword}` of", value.span, hint)
    item = node.items[place]
    changed = replace(item, value=_with_keyword(item.value, key, keyword, value))
    return replace(node, items=(*node.items[:place], changed, *node.items[place + 1 :]))


def _with_keyword(written: tree.Expr, key: str, keyword: str, value: tree.Expr) -> tree.Expr:
    """`cosine(peak = 1)` with another peak, `sgd` with a momentum."""
    given = tree.Argument(value.span, keyword, value)
    match written:
        case tree.Name(name=name) if name in RATES or not key.startswith("lr."):
            return tree.Call(written.span, written, (given,))
        case tree.Call(callee=tree.Name(name=name), arguments=arguments):
            order = list(RATES[name].keywords) if name in RATES else []
            named = [each.name or (order[at] if at < len(order) else None) for at, each in enumerate(arguments)]
            if keyword not in named:
                return replace(written, arguments=(*arguments, given))
            at = named.index(keyword)
            return replace(written, arguments=(*arguments[:at], given, *arguments[at + 1 :]))
        case _ if key == "lr.peak":
            return value
        case _:
            raise fail("E8078", f"`{key}` can't be set: `{written.span.text}` has no keywords", value.span)
