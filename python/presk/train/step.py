"""The step of a train block: one function of PSK, written out, checked and bound like any of a program's own.

Its text stands in the scope of the objective's file, where the types of the objective's parameters mean what they mean
there. It takes the parameters, the optimizer's state, a batch, the step's number and the rate, and gives the next
parameters and state and what is measured: the loss, the gradient's norm, the objective's metrics. Called by the loop,
by `presk dump --train` and by whoever times a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from presk.check.calls import session_signature
from presk.check.initial import Leaf, initializers
from presk.check.program import Checked
from presk.check.scope import Declaration, File
from presk.check.session import Session
from presk.check.solver import Solver
from presk.check.training import TrainBlock
from presk.check.typing import TypeScope, resolve
from presk.check.values import FunctionType, FunctionValue
from presk.core.bind import BindSession, bind_function
from presk.core.nodes import Program
from presk.run import trees
from presk.run.initial import draw_parameters
from presk.shapes import constants, types
from presk.shapes.types import ModuleOf, RecordOf, TreeVariable, Type
from presk.syntax import tree
from presk.syntax.parser import parse_or_raise
from presk.text.spans import Source

DONATED = (0, 1)
"""The step's parameters whose buffers become its results: the model's and the optimizer's trees."""


STEP = "train_step"
"""The function's name in its text; messages and dumps have the block's before it."""


@dataclass(frozen=True)
class Task:
    """A train block at its model: `batch` is the type of the objective's batch, where what data decide is variable."""

    checked: Checked
    block: TrainBlock
    model: ModuleOf
    batch: RecordOf


def open_task(checked: Checked, block: TrainBlock) -> Task:
    """A checked block at its constants' values."""
    session = BindSession(checked, training=True)
    model = _model(session, block)
    pattern, batch = _data_types(session, block.function)
    assert isinstance(batch, RecordOf), "the block was checked"
    solver = Solver()
    solver.match(pattern, model, f"the model of `{block.name}`")
    solver.solve()
    found = types.substitute(batch, solver.sizes)
    assert isinstance(found, RecordOf), "a record stays one"
    return Task(checked, block, model, found)


def bind_step(task: Task, batch: RecordOf, *, simplified: bool = True) -> Program:
    """The step at a batch of these types; dropout draws."""
    session = BindSession(task.checked, training=True)
    function = FunctionValue(_declared(task))
    label = function.declaration.label
    arguments = [task.model, None, batch, None, None]
    return bind_function(session, function, label, arguments=arguments, simplified=simplified)


def bind_objective(task: Task, batch: RecordOf) -> Program:
    """The objective by itself, as rows that aren't trained on measure it: nothing is dropped."""
    session = BindSession(task.checked, training=False)
    return bind_function(session, task.block.function, task.block.objective, arguments=[task.model, batch])


def bind_state(task: Task) -> Program:
    """The optimizer's `init`: the state before the first step."""
    session = BindSession(task.checked, training=False)
    declaration = task.block.optimizer_file.declarations["init"]
    function = FunctionValue(declaration, None, (task.model,))
    return bind_function(session, function, declaration.label, arguments=[task.model])


def initial(task: Task, seed: int, rest: Callable[[Leaf], str]) -> Any:
    """The parameters before the first step, in f64: those that `init` of the model's entries draws.

    `rest` is the type each is stored in.
    """
    session = BindSession(task.checked, training=False)
    model = _model(session, task.block)
    return draw_parameters(model, initializers(session, model), seed, rest=rest)


def frozen_paths(task: Task) -> list[trees.Path]:
    """The parameters that the block keeps as they are."""
    paths = [path for path, _ in types.leaves(task.model)]
    return [path for path in paths if any(fnmatchcase(".".join(path), each) for each in task.block.freeze)]


def step_text(task: Task) -> str:
    """The step as PSK text, to be read in the scope of the objective's file."""
    block, objective = task.block, task.block.function.declaration
    node = objective.node
    assert isinstance(node, tree.Function), "an objective is a function"
    taken = {*objective.file.declarations, *objective.file.imports, STEP}
    m, s, batch, t, lr = (_fresh(name, taken) for name in ("m", "s", "batch", "t", "lr"))
    g, loss, norm, metrics, new = (_fresh(name, taken) for name in ("g", "loss", "norm", "metrics", "new"))
    model, rows = (parameter.type.span.text for parameter in node.parameters)
    value = f"({loss}, {metrics})" if block.metrics else loss
    measured = f", metrics = {metrics}" if block.metrics else ""
    stepped = ", ".join((m, g, s, t, lr, *_settings(block)))
    still = [".".join(path) for path in frozen_paths(task)]
    moved = _fresh(f"moved_{node.name}", taken) if still else node.name
    held = ", ".join(f"{path} = stop_gradient({m}.{path})" for path in still)
    lines = [
        *(
            [f"fn {moved}({m}: {model}, {batch}: {rows}) {{ {node.name}({{{m} with {held}}}, {batch}) }}"]
            if still
            else []
        ),
        f"fn {STEP}({m}: {model}, {s}: {_state_text(task, model)}, {batch}: {rows}, {t}: real, {lr}: real) {{",
        f"  let ({value}, {g}) = value_and_grad({moved})({m}, {batch})",
        f"  let {norm} = sqrt(total(map({g} = {g}) {{ square({g}) }}))",
        *_clipped(block, g, norm, _fresh("scale", taken)),
        f"  let ({new}, {s}) = {_optimizer_name(task)}.step({stepped})",
        *(f"  let {new} = {{{new} with {path} = {m}.{path}}}" for path in still),
        f"  ({new}, {s}, {{loss = {loss}, norm = {norm}{measured}}})",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _declared(task: Task) -> Declaration:
    """The step's text, read into a file that sees what the objective's sees, and the optimizer."""
    block, home = task.block, task.block.function.declaration.file
    source = Source(f"<the step of {block.name}>", step_text(task))
    content = parse_or_raise(source)
    imports = {**home.imports, _optimizer_name(task): block.optimizer_file}
    file = File(source, home.path, home.name, content, dict(home.declarations), imports)
    for node in content.declarations:
        assert isinstance(node, tree.Function), "the text has functions alone"
        file.declarations[node.name] = Declaration(node, file, f"{block.name}.{node.name}")
    return file.declarations[STEP]


def _model(session: Session, block: TrainBlock) -> ModuleOf:
    """The model's type at the constants' values; the session knows its declaration then."""
    model = resolve(TypeScope(session, block.file, {}), block.model)
    assert isinstance(model, ModuleOf), "the block was checked"
    return model


def _data_types(session: Session, function: FunctionValue) -> tuple[Type, Type]:
    """The types of the objective's model and batch."""
    found = [parameter.type for parameter in session_signature(session, function).parameters]
    model, batch = found
    assert model is not None and batch is not None, "an objective's parameters are data"
    assert not isinstance(model, FunctionType) and not isinstance(batch, FunctionType), "and no functions"
    return model, batch


def _fresh(name: str, taken: set[str]) -> str:
    """A name like this one that nothing has yet."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _optimizer_name(task: Task) -> str:
    """What the step calls the optimizer's file."""
    home = task.block.function.declaration.file
    return _fresh("optimizer", {*home.declarations, *home.imports})


def _state_text(task: Task, model: str) -> str:
    """The type of the optimizer's state, with the model's text for its tree."""
    session = BindSession(task.checked, training=False)
    step = FunctionValue(task.block.optimizer_file.declarations["step"])
    signature = session_signature(session, step)
    state = signature.parameters[2].type
    assert state is not None and not isinstance(state, FunctionType), "a state is data"
    trees = {name: TreeVariable(model) for name in signature.tree_variables}
    return types.show(types.substitute(state, {}, None, trees))


def _settings(block: TrainBlock) -> list[str]:
    """The optimizer's keywords as the block gives them."""
    numbers = [f"{name} = {constants.show(value)}" for name, value in block.optimizer.numbers.items()]
    words = [f"{name} = {str(value).lower()}" for name, value in (block.optimizer.words or {}).items()]
    return numbers + words


def _clipped(block: TrainBlock, g: str, norm: str, scale: str) -> list[str]:
    """The gradient scaled to the block's greatest norm; by 1 exactly where it is smaller."""
    if block.clip is None:
        return []
    most = constants.show(block.clip)
    return [
        f"  let {scale} = {most} / maximum({norm}, {most})",
        f"  let {g} = map({g} = {g}) {{ {g} * {scale} }}",
    ]
