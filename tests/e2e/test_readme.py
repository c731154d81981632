"""Every command of the README runs, in its order, and succeeds."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.e2e.houses import ROOT, HouseOnDisk

README = ROOT / "README.md"
TIMEOUT_S = 280


def commands() -> list[str]:
    """The lines that begin with `$ ` in the README's console blocks."""
    blocks = re.findall(r"^```console\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def run_all(lines: list[str], house: HouseOnDisk) -> subprocess.CompletedProcess[str]:
    """Runs the commands in one shell, as a reader would; it ends at the first that fails."""
    return subprocess.run(
        ("bash", "-euo", "pipefail", "-x", "-c", "\n".join(lines)),
        cwd=ROOT,
        env={**os.environ, "CROUPIER_HOUSE": str(house.file)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.timeout(TIMEOUT_S + 20)
def test_the_commands_of_the_readme_work_one_after_the_other(house: HouseOnDisk) -> None:
    lines = commands()
    assert lines[0] == "make run HANDS=50"
    assert lines[-2:] == ["croupier down", "make"]
    done = run_all(lines, house)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "everything holds" in done.stdout
    assert "baccarat-1-3 verifies" in done.stdout
    assert not house.is_up()


def test_the_readme_links_to_what_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]
