"""The step of a train block: one function of PSK, written out, checked and bound like any of a program's own.

Its text stands in the scope of the objective's file, where the types of the objective's parameters mean what they mean
there. It takes the parameters, the optimizer's state, a batch, the step's number and the rate, and gives the next
parameters and state and what is measured: the loss, the gradient's norm, the objective's metrics. Called by the loop,
by `presk dump --train` and by whoever times a step.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from presk.check.calls import session_signature
from presk.check.program import Checked
from presk.check.scope import Declaration, File
from presk.check.session import Session
from presk.check.signature import Signature
from presk.check.solver import Solver
from presk.check.training import TrainBlock
from presk.check.typing import TypeScope, find, resolve
from presk.check.values import FunctionType, FunctionValue
from presk.core.bind import BindSession, bind_function
from presk.core.nodes import Program
from presk.primitives.all import TABLE
from presk.shapes import constants, types
from presk.shapes.poly import Poly
from presk.shapes.types import ModuleOf, RecordOf, TreeVariable
from presk.syntax import tree
from presk.syntax.parser import parse_or_raise
from presk.text.diagnostics import InternalError
from presk.text.spans import Source, Span

DONATED = (0, 1)
"""The step's parameters whose buffers become its results: the model's and the optimizer's trees."""


@dataclass(frozen=True)
class Task:
    """A train block with what it names found: the model's type, the objective and the optimizer's file.

    `batch` is the type of the objective's batch; sizes that only data decide are variables in it.
    """

    checked: Checked
    block: TrainBlock
    model: ModuleOf
    objective: FunctionValue
    optimizer: File
    batch: RecordOf


def open_task(checked: Checked, block: TrainBlock) -> Task:
    """What a checked block names."""
    session = BindSession(checked, training=True)
    model = resolve(TypeScope(session, block.file, {}), block.model)
    objective = _objective(session, block)
    optimizer = block.optimizer_file
    signature = session_signature(session, objective)
    kinds = [parameter.type for parameter in signature.parameters]
    batch = kinds[1]
    known = isinstance(model, ModuleOf) and kinds[0] is not None and not isinstance(kinds[0], FunctionType)
    if not known or not isinstance(batch, RecordOf):
        raise InternalError(f"the train block `{block.name}` was checked")
    solver = Solver()
    solver.match(kinds[0], model, f"the model of `{block.name}`")
    solver.solve()
    found = types.substitute(batch, solver.sizes)
    assert isinstance(found, RecordOf), "substitution keeps the kind of a type"
    return Task(checked, block, model, objective, optimizer, found)


def _objective(session: Session, block: TrainBlock) -> FunctionValue:
    for file in session.files.all:
        for declaration in file.declarations.values():
            if declaration.file is file and declaration.label == block.objective:
                return FunctionValue(declaration)
    raise InternalError(f"the objective `{block.objective}` was checked")


def bind_step(task: Task, batch: RecordOf, *, simplified: bool = True) -> Program:
    """The step at a batch of these types; dropout draws."""
    session = BindSession(task.checked, training=True)
    function = _declared(task, step_text(task))
    arguments = [task.model, None, batch, None, None]
    return bind_function(session, function, function.declaration.label, arguments=arguments, simplified=simplified)


def bind_objective(task: Task, batch: RecordOf) -> Program:
    """The objective by itself, as it is evaluated: nothing is dropped."""
    session = BindSession(task.checked, training=False)
    return bind_function(session, task.objective, task.block.objective, arguments=[task.model, batch])


def bind_state(task: Task) -> Program:
    """The optimizer's `init`: the state before the first step."""
    session = BindSession(task.checked, training=False)
    declaration = task.optimizer.declarations["init"]
    function = FunctionValue(declaration, None, (task.model,))
    return bind_function(session, function, declaration.label, arguments=[task.model])


def frozen(task: Task) -> list[tuple[str, ...]]:
    """The paths of the parameters that the block keeps as they are."""
    paths = [path for path, _ in types.leaves(task.model)]
    return [path for path in paths if any(fnmatchcase(".".join(path), each) for each in task.block.freeze)]


def step_text(task: Task) -> str:
    """The step as PSK text, to be read in the scope of the objective's file."""
    block, node = task.block, task.objective.declaration.node
    assert isinstance(node, tree.Function)
    names = _Names(task.objective.declaration.file)
    m, s, batch, t, lr = (names.fresh(each) for each in ("m", "s", "batch", "t", "lr"))
    g, loss, norm, metrics = (names.fresh(each) for each in ("g", "loss", "norm", "metrics"))
    model = node.parameters[0].type.span.text
    state = _state_text(task, model)
    value = f"({loss}, {metrics})" if block.metrics else loss
    lines = [
        f"## One step of the train block `{block.name}`.",
        f"fn {STEP}(",
        *(f"  {name}: {of}," for name, of in ((m, model), (s, state), (batch, node.parameters[1].type.span.text))),
        *(f"  {name}: real," for name in (t, lr)),
        ") {",
        f"  let ({value}, {g}) = value_and_grad({_objective_name(task, names)})({m}, {batch})",
        *_without(task, g),
        f"  let {norm} = sqrt(total(map({g} = {g}) {{ square({g}) }}))",
        *_clipped(block, names, g, norm),
        f"  let ({m}2, {s}) = {names.optimizer}.step({', '.join((m, g, s, t, lr, *_settings(block)))})",
        *(f"  let {m}2 = {{{m}2 with {path} = {m}.{path}}}" for path in map(".".join, frozen(task))),
        f"  ({m}2, {s}, {{loss = {loss}, norm = {norm}{''.join(_measured(block, metrics))}}})",
        "}",
    ]
    return "\n".join(lines) + "\n"
