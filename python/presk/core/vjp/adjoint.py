"""The adjoint of each kind of let: what it passes on of its cotangents. Called by `transform`."""

from __future__ import annotations

from collections.abc import Mapping

from presk.core.nodes import Apply, Call, Let, Literal, Loop, MakeRecord, MakeTuple, MapTrees, Operand, Ref, SetField
from presk.core.typing import call_type, component, operand_type
from presk.core.vjp.activity import Path
from presk.core.vjp.loops import LoopAdjoint
from presk.core.vjp.maps import write_map
from presk.core.vjp.pullback import Pullback
from presk.core.vjp.rules.table import RULES
from presk.core.vjp.scope import KEPT, Scope
from presk.core.vjp.writing import Writing, checked, within


class Adjoint(Writing):
    """Writes the adjoint of one function."""

    def let(self, scope: Scope, let: Let, found: Mapping[Path, Operand]) -> None:
        """Passes a let's cotangents on."""
        match let.value:
            case Apply() as apply:

                def add(to: Ref, value: Operand) -> None:
                    self.give(scope, to, value)

                def put(to: Ref, axis: int, start: int, value: Operand) -> None:
                    self.place(scope, to, axis, start, value)

                RULES[apply.primitive](Pullback(scope, let, apply, found, self.active, add, put))
            case Call() as call:
                self.call(scope, let, call, found)
            case Loop() as loop:
                LoopAdjoint(self, scope, let, loop).write(found)
            case MapTrees() as mapped:
                write_map(self, scope, mapped, found)
            case MakeTuple(items):
                for path, value in found.items():
                    self.give(scope, within(items[int(path[0])], path[1:]), value)
            case MakeRecord(fields):
                named = dict(fields)
                for path, value in found.items():
                    self.give(scope, within(named[path[0]], path[1:]), value)
            case SetField(base, place, new):
                for path, value in found.items():
                    inside = path[: len(place)] == place
                    self.give(scope, within(new, path[len(place) :]) if inside else within(base, path), value)

    # Calls

    def call(self, scope: Scope, let: Let, call: Call, found: Mapping[Path, Operand]) -> None:
        """A call of the callee's adjoint; draws in it have the path they have in the callee."""
        active = frozenset((at, path) for at, operand in enumerate(call.operands) for path in self.active_in(operand))
        seeds = tuple((path, value if isinstance(value, Literal) else None) for path, value in found.items())
        derived = self.calls[let.number] = self.deriver.derive(call.function, active, seeds)
        if not derived.given:
            return
        operands = [scope.value(checked(within(call.operands[at], path))) for at, path in derived.taken]
        if derived.forward is not None:
            kinds = tuple(operand_type(operand, self.primal.types) for operand in call.operands)
            result = call_type(self.deriver.functions[derived.forward], kinds)
            for at in range(derived.kept):
                kept = Ref(let.number, (KEPT, str(at)))
                operands.append(scope.kept_value(kept, component(result, ("1", str(at)))))
        operands += [found[path] for path, constant in derived.seeds if constant is None]
        made = scope.let(Call(derived.adjoint, tuple(operands), call.path))
        for at, (number, path) in enumerate(derived.given):
            self.give(scope, within(call.operands[number], path), Ref(made.number, (str(at),)))
