"""The Python programs of `docs/from-cuda-core.md`."""

import contextlib
import io
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "from-cuda-core.md"


def check(number, program):
    def run():
        os.chdir(ROOT / "crates" / "warploom" / "examples")  # has the kernel that one of them loads
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program, f"{PAGE.name}, program {number}", "exec"), {"__name__": "guide"})

    run.__name__ = f"program_{number}_of_the_guide_runs"
    return run


PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
CHECKS = [check(number, program) for number, program in enumerate(PROGRAMS, 1)]
