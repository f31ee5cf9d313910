"""Documents fit the width, and comments find the end of their line."""

from __future__ import annotations

from presk.text.printer import Choice, HardLine, Line, Nest, OwnLineComment, TrailingComment, group, render


def call(*items: str) -> object:
    body = [Line("")]
    for number, item in enumerate(items):
        body.extend([item, Choice(",", "") if number == len(items) - 1 else ",", Line(" ")])
    return group("f(", Nest(body[:-1]), Line(""), ")")


def test_a_group_stays_on_one_line_up_to_the_width() -> None:
    assert render(call("a", "b"), 7) == "f(a, b)\n"
    assert render(call("a", "b"), 6) == "f(\n  a,\n  b,\n)\n"


def test_what_follows_a_group_counts() -> None:
    assert render([call("a", "b"), " {"], 8) == "f(\n  a,\n  b,\n) {\n"
    assert render([call("a", "b"), group(Line(" "), "{")], 7) == "f(a, b)\n{\n"


def test_a_hard_line_breaks_the_groups_around_it() -> None:
    assert render(group("a", Line(" "), group("b", HardLine(), "c")), 80) == "a\nb\nc\n"


def test_a_trailing_comment_waits_for_the_end_of_its_line() -> None:
    assert render(["a", TrailingComment("# one"), ",", HardLine(), "b"], 80) == "a,  # one\nb\n"


def test_a_comment_at_the_end_of_a_group_does_not_break_it() -> None:
    assert render(group("a", Line(" "), "b", TrailingComment("# c")), 80) == "a b  # c\n"
    assert render(group("a", TrailingComment("# c"), Line(" "), "b"), 80) == "a  # c\nb\n"


def test_a_comment_of_its_own_line_gets_one() -> None:
    assert render(["a", Nest([OwnLineComment("# c"), "b"])], 80) == "a\n  # c\n  b\n"


def test_comments_of_adjacent_lines_are_aligned_unless_far_apart() -> None:
    lines = ["a", TrailingComment("# 1"), HardLine(), "bcd", TrailingComment("# 2")]
    assert render(lines, 80) == "a    # 1\nbcd  # 2\n"
    far = ["a", TrailingComment("# 1"), HardLine(), "b" * 81, TrailingComment("# 2")]
    assert render(far, 80) == "a  # 1\n" + "b" * 81 + "  # 2\n"


def test_no_line_ends_in_a_blank() -> None:
    assert render(["a", " ", HardLine(blank=True), " ", "b"], 80) == "a\n\nb\n"
