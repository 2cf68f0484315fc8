"""The house rules that no linter holds: sizes, imports, comments, docs that tell the truth."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from byheart.app import setting_rules
from byheart.domain import errors
from byheart.interfaces.cli import group
from byheart.interfaces.cli.group import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_module_is_at_most_500_lines_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 500
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_functions_are_at_most_60_lines(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            body = (node.end_lineno or 0) - node.body[0].lineno
            # Tables of rules and option lists are data; what counts is what a reader has to follow.
            if node.name not in ("instruction_rules", "shape_rules", "personal_rules", "remember"):
                assert body <= 60, f"{path.name}:{node.name} has {body} lines"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_public_functions_and_classes_say_what_they_promise(path: Path) -> None:
    if path.parent.name == "domain" and path.name == "ports.py":
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            short = isinstance(node, ast.FunctionDef) and len(node.body) <= 2
            assert ast.get_docstring(node) or short, f"{path.name}:{node.name}"


def room_path(path: Path) -> str:
    return path.relative_to(ROOT / "src" / "byheart").as_posix()


def test_broad_except_stands_only_at_the_boundary() -> None:
    found = {room_path(path) for path in SOURCES if re.search(r"except (?:Base)?Exception\b", path.read_text("utf-8"))}
    assert found <= {
        "interfaces/cli/app.py",
        "interfaces/faults.py",
        "interfaces/hooks/hook.py",
        "interfaces/web/guard.py",
        # Re-raising, around descriptors.
        "storage/files/containment.py",
        "storage/files/locks.py",
    }


WRITERS = {
    "storage/files/disk.py",
    "storage/files/containment.py",
    "storage/files/locks.py",
    "testing.py",
    # SQLite writes its own file; it is only made beforehand, so that nobody else can read it. Weights and vectors are no text.
    "storage/index/schema.py",
    "storage/queue/schema.py",
    "storage/embedders/local.py",
    "storage/index/vectors.py",
    # Files that hold nothing: a worker is alive while it holds the lock on its own.
    # What a hook keeps; it has no time for more.
    "storage/cards.py",
    "storage/background.py",
    # A file for Codex to look at, in a folder that is thrown away.
    "agents/codex/trust.py",
}


def test_files_are_opened_for_writing_only_by_the_adapter() -> None:
    writing = r"open\([^)]*[\"'](?:w|a|wb|ab|x)[\"']|write_text|write_bytes|O_WRONLY|O_CREAT"
    found = {
        room_path(path)
        for path in SOURCES
        if re.search(writing, path.read_text("utf-8").replace("os.O_WRONLY), sys.stdout", ""))
    }
    assert found <= WRITERS


def test_forbidden_words_are_not_names() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                assert not re.search(r"(?i)manager|helper|util|processor|handler", node.name), (
                    f"{path.name}:{node.name}"
                )


def test_every_command_setting_and_error_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"### byheart {name}" in text
    for key in setting_rules.KEYS:
        assert f"`{key}`" in text
    for name in vars(errors).values():
        if isinstance(name, type) and issubclass(name, errors.ByheartError):
            assert f"`{name.__name__}`" in text


def test_no_machine_path_or_registry_host_stands_in_a_file() -> None:
    for path in ROOT.rglob("*"):
        if (
            path.is_file()
            and path.suffix in (".py", ".md", ".toml", ".txt", ".sh", "")
            and not set(path.parts)
            & {".venv", ".venv-docs", "site", "dist", ".git", ".hypothesis", ".mypy_cache", ".ruff_cache"}
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not re.search(
                r"(?<!memory:)(?:^|[^\w.])/(?:work|farm|root)/\w|://[^ )\"']*/(?:simple|packages)/", text
            ), path


def test_seed_map_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    defined = {
        node.name
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert named
    assert named - defined == set()


def test_readme_shows_the_two_commands_and_links_that_resolve() -> None:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in readme
    assert "make test" in readme


def test_every_agent_and_every_variable_that_moves_it_is_in_the_docs() -> None:
    from byheart.agents import agent

    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    assert rows == set(agent.names())
    places = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/byheart/agents").rglob("*.py"))
    variables = set(re.findall(r'(?:variable|get|base)\((?:target, )?"([A-Z]+_[A-Z_]+)"', places))
    assert [name for name in sorted(variables) if f"`{name}`" not in page] == []


def test_architecture_names_every_room_with_its_modules() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    told = {
        room: set(re.findall(r"`(\w+)`", modules))
        for room, modules in re.findall(r"^\| `([\w/]+)` \| [^|]* \| ([^|]*) \|$", text, re.MULTILINE)
    }
    found: dict[str, set[str]] = {}
    top = ROOT / "src" / "byheart"
    for path in SOURCES:
        room = path.parent.relative_to(top).as_posix() if path.is_relative_to(top) else "."
        if path.name != "__init__.py" and room != ".":
            found.setdefault(room, set()).add(path.stem)
    assert told == found


def test_tests_lie_as_the_rooms_do() -> None:
    whole = {"contracts", "golden", "journeys", "real_agents", "shape"}
    for folder in sorted({path.parent.relative_to(ROOT / "tests") for path in TESTS}):
        if folder.parts and folder.parts[0] not in whole:
            assert (ROOT / "src" / "byheart" / folder).is_dir(), folder


def test_man_page_names_every_command_and_what_an_install_is_made_of_can_be_listed() -> None:
    from scripts.sbom import bill

    page = (ROOT / "docs" / "byheart.1").read_text(encoding="utf-8")
    for section in group.SECTIONS.values():
        for name in section:
            assert name not in group.LINES or f".B byheart {name}\n" in page
    listed = bill()["components"]
    assert isinstance(listed, list) and {"numpy", "click", "msgspec"} <= {each["name"] for each in listed}
