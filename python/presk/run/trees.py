"""Trees of arrays as Python holds them: records are dicts, tuples are tuples, a leaf is anything else.

A leaf's path is the tuple of fields that lead to it, a tuple's being `0`, `1` …; written out, dotted. An empty record
or tuple has no leaves and so no path. Called by the tensor files, the seam and the Python API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from presk.text.diagnostics import fail

Path = tuple[str, ...]

DEPTH_LIMIT = 100
"""Levels of a tree that are walked; a deeper one is taken for one that contains itself."""


def leaves(tree: object, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Paths and leaves in the tree's own order. E6031 where the tree is nested too deeply or a field isn't named."""
    found: list[tuple[Path, Any]] = []
    _collect(tree, path, found)
    return iter(found)


def _collect(tree: object, path: Path, found: list[tuple[Path, Any]]) -> None:
    """Adds the leaves. Every call walks its arguments, and plain dicts and tuples are told faster than mappings."""
    kind = type(tree)
    if kind is dict or (kind is not tuple and isinstance(tree, Mapping)):
        fields: Iterable[tuple[object, object]] = cast(Mapping[object, object], tree).items()
    elif kind is tuple or isinstance(tree, tuple):
        fields = ((str(at), each) for at, each in enumerate(cast(tuple[object, ...], tree)))
    else:
        found.append((path, tree))
        return
    if len(path) >= DEPTH_LIMIT:
        raise fail("E6031", f"a tree of more than {DEPTH_LIMIT} levels", hint="does it contain itself?")
    for name, each in fields:
        if not isinstance(name, str):
            raise fail("E6031", f"a field of a record is named {name!r}, which is no text")
        _collect(each, (*path, name), found)


def map_leaves(tree: object, change: Callable[[Any], Any]) -> Any:
    """The tree with every leaf replaced; records become dicts, tuples tuples."""
    kind = type(tree)
    if kind is dict or (kind is not tuple and isinstance(tree, Mapping)):
        return {name: map_leaves(each, change) for name, each in cast(Mapping[str, object], tree).items()}
    if kind is tuple or isinstance(tree, tuple):
        return tuple(map_leaves(each, change) for each in cast(tuple[object, ...], tree))
    return change(tree)


def grow(items: Iterable[tuple[Path, object]]) -> Any:
    """The tree with these leaves. Fields `0` … n − 1 make a tuple; a sole leaf of path () is the tree.

    E6031 where two leaves stand in each other's place.
    """
    root: dict[str, Any] = {}
    for path, leaf in items:
        at = root
        for name in ("", *path)[:-1]:
            step = at.setdefault(name, _Branch())
            if not isinstance(step, _Branch):
                raise fail("E6031", f"`{'.'.join(path)}` stands below a leaf")
            at = step
        last = path[-1] if path else ""
        if last in at:
            raise fail("E6031", f"`{'.'.join(path)}` stands where another leaf or a tree does")
        at[last] = leaf
    return _settled(root[""]) if "" in root else {}


class _Branch(dict[str, Any]):
    """A tree under construction: told from a dict that is a leaf."""


def _settled(tree: Any) -> Any:
    if not isinstance(tree, _Branch):
        return tree
    places = [str(at) for at in range(len(tree))]
    if tree and set(tree) == set(places):
        return tuple(_settled(tree[place]) for place in places)
    return {name: _settled(each) for name, each in tree.items()}
