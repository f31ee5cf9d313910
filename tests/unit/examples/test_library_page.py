"""docs/library.md is what tools/library.py makes of the library."""

from __future__ import annotations

import subprocess
import sys

from tests.unit.examples.running import LIBRARY, ROOT


def test_the_page_is_current() -> None:
    result = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "library.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_the_page_has_every_file_of_the_library() -> None:
    text = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert [path.stem for path in sorted(LIBRARY.glob("*.psk")) if f"\n## {path.stem}\n" not in text] == []
