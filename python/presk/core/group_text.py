"""The partition as text: what `presk dump --stage groups` shows.

A function's groups with their root, nest and members, and what the partition saved. Views come last in a line of their
own, since nothing runs for them.
"""

from __future__ import annotations

from presk.core.groups import BodyGroups, Group, Groups, partition
from presk.core.nodes import Apply, Function, Let, Loop, Program
from presk.core.printer import bodies, show_operand
from presk.shapes.types import Shape, show, show_axis


def print_groups(program: Program) -> str:
    """The groups of every function of a simplified program."""
    texts = [_Listing(function).text() for function in program.functions]
    return "\n".join(texts)


class _Listing:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.groups: Groups = partition(function)
        self.lets: dict[int, Let] = {let.number: let for body in bodies(function.body) for let in body.lets}
        self.lines: list[str] = []

    def text(self) -> str:
        groups = self.groups
        self.lines.append(f"fn {groups.function}: {_counted(groups.launches)}, {groups.saved} saved by fusion")
        for body in groups.bodies:
            self.body(body)
        return "\n".join((*self.lines, ""))

    def body(self, body: BodyGroups) -> None:
        indent = "  "
        if body.owner is not None:
            let = self.lets[body.owner]
            what = let.value.kind if isinstance(let.value, Loop) else "map"
            rounds = f", {let.value.trips} rounds" if isinstance(let.value, Loop) else ", every leaf"
            self.lines.append(f"  in {what} {self.label(body.owner)}{rounds}")
            indent = "    "
        if not body.groups:
            self.lines.append(f"{indent}nothing runs here")
        for group in body.groups:
            self.group(group, indent)

    def group(self, group: Group, indent: str) -> None:
        let = self.lets[group.root]
        nest = _shape(group.outer) + (f" × {_shape(group.inner)}" if group.inner else "")
        self.lines.append(f"{indent}{group.kind:5} {self.label(group.root)} : {show(let.type)}  over {nest}")
        if len(group.members) > 1:
            self.lines.append(f"{indent}      {', '.join(self.label(each.number) for each in group.members)}")
        reads = ", ".join(dict.fromkeys(show_operand(read.ref) for read in group.reads))
        if reads:
            self.lines.append(f"{indent}      reads {reads}")
        if group.free:
            self.lines.append(f"{indent}      computes {', '.join(self.label(number) for number in group.free)} itself")

    def label(self, number: int) -> str:
        """`%17 mul logits`."""
        let = self.lets[number]
        what = f" {let.value.primitive}" if isinstance(let.value, Apply) else ""
        return f"%{number}{what}{f' {let.name}' if let.name is not None else ''}"


def _shape(axes: Shape) -> str:
    return f"[{', '.join(show_axis(axis) for axis in axes)}]"


def _counted(launches: int) -> str:
    return "1 launch" if launches == 1 else f"{launches} launches"
