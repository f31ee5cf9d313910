"""A Schedule as text: the form `presk dump --stage schedule` shows and Rust reads (docs/schedule.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from presk.kernel.nodes import Element
from presk.kernel.printer import print_kernel
from presk.run.record.schedule import (
    Convert,
    Copy,
    Draw,
    Fixed,
    Input,
    Key,
    Launch,
    Mask,
    Name,
    Output,
    Repeat,
    Sample,
    Schedule,
    SetCount,
    Step,
    Swap,
    View,
)


def print_schedule(schedule: Schedule) -> str:
    """The whole schedule: its buffers, its steps, then its kernels in the order of their numbers."""
    lines = [f"schedule {json.dumps(schedule.name)} realized {json.dumps(schedule.realization)} {{"]
    lines.extend(f"  {line}" for line in _buffers(schedule))
    for step in schedule.steps:
        lines.extend(f"  {line}" for line in _step(step, schedule))
    lines.append("}")
    lines.extend(print_kernel(kernel).rstrip("\n") for kernel in schedule.kernels)
    return "\n".join(lines) + "\n"


def show_element(element: Element) -> str:
    """The element as kernel text writes it: `f32`, `i64<64>`, `int8/1`, `int4/0..2`."""
    if element.scales is not None:
        first, end = element.scales
        return f"{element.kind}/{first}" if end == first + 1 else f"{element.kind}/{first}..{end}"
    return element.kind if element.bound is None else f"{element.kind}<{element.bound}>"


def show_view(view: View) -> str:
    """`a3`, `h1 + 768*l0 + 3`."""
    text = f"{view.buffer.space}{view.buffer.number}"
    for counter, stride in view.strides:
        text += f" + {stride}*l{counter}"
    return f"{text} + {view.start}" if view.start else text


def _buffers(schedule: Schedule) -> Iterator[str]:
    for number, each in enumerate(schedule.inputs):
        yield f"input h{number} : {_typed(each)} {json.dumps(each.path)}{' donated' if each.donated else ''}"
    for number, each in enumerate(schedule.outputs):
        shares = "" if each.shares is None else f" in h{each.shares}"
        yield f"output o{number}{shares} : {_typed(each)} {json.dumps(each.path)}"
    for number, each in enumerate(schedule.constants):
        yield f"constant c{number} : {show_element(each.element)} = {_number(each)}"
    yield f"arena {schedule.arena} bytes"
    for number, each in enumerate(schedule.regions):
        yield f"buffer a{number} : {show_element(each.element)}[{each.count}] at {each.offset}"


def _typed(each: Input | Output) -> str:
    return f"{show_element(each.element)}[{', '.join(str(size) for size in each.shape)}]"


def _number(each: Fixed) -> str:
    return str(each.value) if isinstance(each.value, int) else repr(each.value)


def _step(step: Step, schedule: Schedule) -> Iterator[str]:
    match step:
        case Launch():
            yield _launch(step, schedule)
        case Repeat(counter, trips, backward, steps):
            yield f"loop l{counter} in 0..{trips}{' reversed' if backward else ''} {{"
            for inner in steps:
                yield from (f"  {line}" for line in _step(inner, schedule))
            yield "}"
        case Convert(before, element, count, source, target):
            kinds = f"{show_element(before)} to {show_element(element)}"
            yield f"convert {count} {kinds} ({show_view(source)}) -> ({show_view(target)})"
        case Copy(element, count, source, target):
            yield f"copy {count} {show_element(element)} ({show_view(source)}) -> ({show_view(target)})"
        case SetCount(counter, start, target):
            yield f"count l{counter} from {start} -> ({show_view(target)})"
        case Swap(first, second):
            yield f"swap {_name(first)} {_name(second)}"
        case Draw() | Mask() | Sample():
            yield _random(step)


def _launch(step: Launch, schedule: Schedule) -> str:
    split = ""
    if step.split == "whole":
        split = " whole"
    elif step.split is not None:
        workers = "" if step.split.workers is None else f" over {step.split.workers}"
        split = f" split at {step.split.depth}{workers}"
    name = schedule.kernels[step.kernel].name.split("[")[0]
    inputs = ", ".join(show_view(view) for view in step.inputs)
    outputs = ", ".join(show_view(view) for view in step.outputs)
    return f"launch k{step.kernel} {name} ({inputs}) -> ({outputs}){split} {json.dumps(step.site)}"


def _random(step: Draw | Mask | Sample) -> str:
    match step:
        case Draw(kind, first, second, shape, batch, element, key, target, within):
            ends = "" if within is None else f" within {within[0]!r} {within[1]!r}"
            what = f"{kind} {first!r} {second!r}{ends} {_shape(shape, batch)} {show_element(element)}"
        case Mask(probability, probability_element, shape, batch, element, key, target):
            given = f"{show_element(probability_element)} ({show_view(probability)})"
            what = f"mask {given} {_shape(shape, batch)} {show_element(element)}"
        case Sample(element, shape, batch, axis, size, top_k, logits, scalars, temperature, top_p, key, target):
            given = f"{show_element(scalars)} ({show_view(temperature)}, {show_view(top_p)})"
            place = f"axis {axis} of {size} top {top_k}"
            what = f"sample {show_element(element)} ({show_view(logits)}) {given} {_shape(shape, batch)} {place}"
    return f"{what} {_key(key)} -> ({show_view(target)})"


def _shape(shape: tuple[int, ...], batch: int | None) -> str:
    sizes = f"[{', '.join(str(size) for size in shape)}]"
    return sizes if batch is None else f"{sizes} rows {batch}"


def _key(key: Key) -> str:
    counters = ", ".join(f"l{counter}" for counter in key.counters)
    return f"key {json.dumps(key.stream)} {json.dumps(key.path)} [{counters}]"


def _name(name: Name) -> str:
    return f"{name.space}{name.number}"
