"""Random programs whose maps hold derivatives, loops, calls and other maps, each with the same written leaf by leaf.

`f` has one map over trees of leaves of every rank; `by_hand` calls a function of `..` with the map's body for each of
its leaves, which is what the map means.
"""

from __future__ import annotations

from random import Random

LIBRARY = """
module B { u: real[3] = zeros }
module M { w: real[a: 3, 2] = zeros; s: real = zeros; c: real[a: 1, b: 2, 1] = zeros; blocks: B * 2 }
type R = {w: real[a: 3, 2], s: real, c: real[a: 1, b: 2, 1], u: real[2, 3]}
fn bumps(x: real[..]) -> real { sum(x * sin(x)) / 4 + mean(x) }
fn mixed(x: real[..], y: real[..]) -> real { sum(sin(x) * y) + sum(x) * mean(tanh(y)) }
fn waves(x: real[..], y: real[..]) -> real[..] { sin(x) * sum(y) + x * tanh(y) }
fn counted(x: real[..]) { (sum(x * sigmoid(x)), {n = mean(x)}) }
fn slope(x: real[..]) -> real { sum(grad(bumps)(x) * sin(x)) }
fn looped(x: real[..]) -> real { sum(fold y = x over i in 0..2 { sin(y) * x + i }) }
fn inner(x: real[..]) -> real[..] { map(q = x) { q * grad(bumps)(q) } }
fn twice(x: real[..]) -> real[..] { tanh(x) * 2 + x / 8 }
fn pick(v: real[p: 4], w: real[p: 4, q: 4]) -> real[q: 4] { sum(v * w * v, axis = p) }
fn spread(v: real[k: 4]) -> real { logsumexp(v) + v[k = 1] }
"""

LEAVES = {"w": "w", "s": "s", "c": "c", "u": "blocks.u"}
"""How each leaf is reached."""

SCALARS = ("bumps", "slope", "looped")


class Bodies:
    """Writes the text of a body over the leaves x and y. `size` counts down what may still be written."""

    def __init__(self, random: Random, size: int = 8) -> None:
        self.random = random
        self.size = size
        self.names = 0

    def leaf(self, known: tuple[str, ...]) -> str:
        """An expression of a leaf's shape, `known` being the names of such."""
        self.size -= 1
        choice = self.random.randrange(16) if self.size > 0 else 0
        if choice < 2:
            return self.random.choice(known)
        a = self.leaf(known)
        match choice:
            case 2 | 3:
                return f"({a} {self.random.choice('+-*')} {self.leaf(known)})"
            case 4:
                return f"({a} * {self.scalar(known)})"
            case 5:
                return f"{self.random.choice(('tanh', 'sin', 'sigmoid', 'twice', 'inner'))}({a})"
            case 6 | 7:
                return f"grad({self.random.choice(SCALARS)})({a})"
            case 8:
                return f"grad(mixed, wrt = {self.random.randrange(2)})({a}, {self.leaf(known)})"
            case 9:
                return f"vjp(waves, wrt = {self.random.randrange(2)})({a}, {self.leaf(known)})({self.leaf(known)})"
            case 10:
                return f"value_and_grad(counted)({a}).1"
            case 11:
                name = self.name()
                start, body = a, self.leaf((*known, name))
                return f"(fold {name} = {start} over i in 0..2 {{ {body} / 2 + i }})"
            case 12:
                name = self.name()
                body = self.leaf((*known, name))
                return f"(scan {name} = {a} over i in 0..2 {{ ({body} / 2, {name} * i) }}).0"
            case 13:
                name = self.name()
                return f"(map({name} = {a}) {{ {self.leaf((name,))} }})"
            case 14:
                name = self.name()
                return f"({a} + map({name} = m) {{ {self.leaf((name,))} }}.s)"
            case _:
                return f"value_and_grad({self.random.choice(SCALARS)})({a}).1"

    def scalar(self, known: tuple[str, ...]) -> str:
        """A real."""
        self.size -= 1
        match self.random.randrange(8) if self.size > 0 else 0:
            case 0:
                return "s"
            case 1:
                return f"sum({self.leaf(known)})"
            case 2:
                return f"mean({self.leaf(known)})"
            case 3:
                return f"value_and_grad(counted)({self.leaf(known)}).0.1.n"
            case 4:
                return f"{self.random.choice(SCALARS)}({self.leaf(known)})"
            case 5:
                return "sum(grad(spread)(v) * v)"
            case 6:
                return "sum(pick(v, e))"
            case _:
                return f"mixed({self.leaf(known)}, {self.leaf(known)})"

    def name(self) -> str:
        """A new name."""
        self.names += 1
        return f"z{self.names}"


def random_maps(random: Random) -> str:
    """The text of a program."""
    bodies = Bodies(random)
    parts = [bodies.leaf(("x", "y"))]
    if random.randrange(3) == 0:
        parts.append(bodies.leaf(("x", "y")))
    several = len(parts) > 1
    body = f"({', '.join(parts)})" if several else parts[0]
    given = "m: M, n: M, s: real, v: real[k: 4], e: real[4, 4]"
    leaf = "(real[..], real[..])" if several else "real[..]"
    tree, by_hand = ("(M, M)", "(R, R)") if several else ("M", "R")
    calls = {name: f"body(m.{path}, n.{path}, m, s, v, e)" for name, path in LEAVES.items()}
    trees = [", ".join(f"{name} = {name}{at}" for name in calls) for at in (("p", "q") if several else ("p",))]
    lets = "\n".join(
        f"  let {f'({name}p, {name}q)' if several else f'{name}p'} = {call}" for name, call in calls.items()
    )
    made = [f"{{{each}}}" for each in trees]
    return (
        f"{LIBRARY}"
        f"fn f({given}) -> {tree} {{ map(x = m, y = n) {{ {body} }} }}\n"
        f"fn body(x: real[..], y: real[..], m: M, s: real, v: real[k: 4], e: real[4, 4]) -> {leaf} {{ {body} }}\n"
        f"fn by_hand({given}) -> {by_hand} {{\n{lets}\n  {f'({made[0]}, {made[1]})' if several else made[0]}\n}}\n"
    )
