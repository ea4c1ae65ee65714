"""What others pick up from the repository: action, hooks, container, workflows, citation."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from fmident.cli.main import build_parser
from fmident.cli.start import REPOSITORY

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
HOOKS = ROOT / ".pre-commit-hooks.yaml"
ACTION = ROOT / "action.yml"
CONTAINERFILE = ROOT / "ci" / "Containerfile"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_workflows_have_jobs_with_the_least_rights(subtests: pytest.Subtests) -> None:
    for path in WORKFLOWS:
        with subtests.test(path.name):
            workflow = read(path)
            assert workflow["permissions"] == {"contents": "read"}
            assert workflow[True]  # 'on', as YAML 1.1 reads it
            for job in workflow["jobs"].values():
                # A machine that stays what it is.
                assert not str(job["runs-on"]).endswith("-latest")
                needed = job.get("needs", [])
                assert {*([needed] if isinstance(needed, str) else needed)} <= set(workflow["jobs"])
                assert 0 < job["timeout-minutes"] <= 120
                for step in job["steps"]:
                    assert ("run" in step) != ("uses" in step)
            assert set(workflow["concurrency"]) == {"group", "cancel-in-progress"}


def test_actions_are_pinned_by_commit(subtests: pytest.Subtests) -> None:
    for path in [*WORKFLOWS, ACTION]:
        with subtests.test(path.name):
            used = re.findall(r"\buses: (?!\./)(.+)", path.read_text(encoding="utf-8"))
            pinned = [
                re.fullmatch(r"([\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", name) for name in used
            ]
            assert None not in pinned, used
            commits = {m[1]: m[2] for m in pinned if m}
            assert all(m[2] == commits[m[1]] for m in pinned if m)


def test_issue_templates(subtests: pytest.Subtests) -> None:
    for path in TEMPLATES:
        with subtests.test(path.name):
            template = read(path)
            if path.name == "config.yml":
                assert all(
                    {"name", "url", "about"} == set(link) for link in template["contact_links"]
                )
                continue
            assert {"name", "description", "body"} <= set(template)
            fields = [field["id"] for field in template["body"]]
            assert len(fields) == len(set(fields))
            assert any(field.get("validations", {}).get("required") for field in template["body"])


def test_hooks_call_commands_that_there_are(subtests: pytest.Subtests) -> None:
    for hook in read(HOOKS):
        with subtests.test(hook["id"]):
            program, *words = shlex.split(hook["entry"])
            assert program == "fmident"
            assert hook["language"] == "python"
            build_parser()[0].parse_args(
                words if hook.get("pass_filenames") is False else [*words, "x.fmu"]
            )
            files = re.compile(hook["files"])
            wanted = (
                ("a/x.fmu",)
                if hook["id"] == "fmident-validate"
                else ("a/x.mo", "fmus/catalog.toml")
            )
            assert all(files.search(name) for name in wanted)
            assert not files.search("x.md")


def test_documentation_names_hooks_and_inputs_that_there_are() -> None:
    text = (ROOT / "docs" / "how-to" / "continuous-integration.md").read_text(encoding="utf-8")
    assert set(re.findall(r"- id: ([\w-]+)", text)) == {hook["id"] for hook in read(HOOKS)}
    assert set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)) == set(read(ACTION)["inputs"])


def test_one_address_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Repository"] == REPOSITORY
    citation = read(ROOT / "CITATION.cff")
    assert citation["repository-code"] == REPOSITORY
    assert citation["license"] == project["license"]
    assert f'"url": "{REPOSITORY}"' in (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    for name in ("CONTRIBUTING.md", "SECURITY.md", ".github/ISSUE_TEMPLATE/config.yml"):
        found = re.findall(r"https://github\.com/[\w.-]+/[\w.-]+", (ROOT / name).read_text())
        assert set(found) == {REPOSITORY}, name


def test_links_of_the_files_in_the_root() -> None:
    for name in ("CONTRIBUTING.md", "SECURITY.md"):
        links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
        assert [link for link in links if not (ROOT / link).exists()] == []


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the container file with their arguments."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_container_runs_fmident_with_a_compiler() -> None:
    commands = [rest for word, rest in instructions() if word == "RUN"]
    for command in commands:
        assert subprocess.run(["sh", "-n", "-c", command], timeout=20).returncode == 0
    (installed,) = (command for command in commands if "pip install" in command)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"whl\)\[(\w+)\]", installed)) == {"cross"}
    assert "cross" in project["optional-dependencies"]
    assert ("ENTRYPOINT", '["fmident"]') in instructions()


# ------------------------------------------------------------------------------ the action


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a copy of the study to start from, without an FMU."""
    folder = tmp_path / "study"
    shutil.copytree(
        ROOT / "examples" / "oscillator", folder, ignore=shutil.ignore_patterns("*.fmu", "results")
    )
    return folder


def step(name: str) -> dict[str, Any]:
    (found,) = (s for s in read(ACTION)["runs"]["steps"] if s.get("name") == name)
    return dict(found)


def run_action(folder: Path, **inputs: str) -> tuple[int, str, str]:
    """Run the step that validates; return exit code, what it printed and what it gave out."""
    known = {name: str(i["default"]) for name, i in read(ACTION)["inputs"].items()}
    assert set(inputs) <= set(known)
    values = known | inputs | {"working-directory": str(folder)}
    part = step("Validate")
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], text)
        for name, text in part["env"].items()
    }
    given = folder.parent / "output"
    given.unlink(missing_ok=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        # As the runner does for 'shell: bash'.
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", part["run"]],
        cwd=folder,
        env={**os.environ, **environment, "GITHUB_OUTPUT": str(given), "PATH": path}
        | {"GITHUB_WORKSPACE": str(folder.parent)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    return done.returncode, done.stdout, given.read_text() if given.exists() else ""


@pytest.mark.nightly
@pytest.mark.slow
def test_the_action_builds_and_validates_a_catalogue(
    study: Path, embedded_compiler: object
) -> None:
    code, shown, given = run_action(study, arguments="--resets 20")
    assert code == 0, shown
    assert "::error" not in shown
    assert given == f"junit={study}/fmident-junit.xml\n"
    suites = ElementTree.parse(study / "fmident-junit.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["Oscillator"]
    # A contract that the FMU does not keep any more: the step fails, at the entry's line.
    catalog = study / "fmus" / "catalog.toml"
    catalog.write_text(catalog.read_text().replace('x = "m"', 'x = "s"'))
    code, shown, _ = run_action(study, arguments="--resets 20")
    assert code == 1
    line = catalog.read_text().splitlines().index("[[fmus]]") + 1
    assert f"::error file=study/fmus/catalog.toml,line={line},title=fmident%3A interface" in shown


@pytest.mark.slow
def test_the_action_takes_patterns(study: Path, embedded_compiler: object) -> None:
    code, shown, _ = run_action(study, fmus="**/*.fmu")
    assert (code, shown) == (2, "::error title=fmident::no file matches '**/*.fmu'\n")
    (study / "a b.fmu").write_text("not a zip")
    code, shown, _ = run_action(study, fmus="**/*.fmu other*")
    assert (code, shown) == (2, "::error title=fmident::no file matches 'other*'\n")
    code, shown, _ = run_action(study, fmus="\n**/*.fmu\n")
    assert code == 2
    assert "::error file=study/a b.fmu,title=fmident%3A unusable::" in shown


def test_arguments_of_the_action_may_be_lines(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "fmident"
    program.parent.mkdir()
    program.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    part = step("Validate")
    inputs = {"FMUS": "a.fmu", "CATALOG": "", "JUNIT": "j.xml", "FOLDER": ".", "BUILD": "false"}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", part["run"]],
        cwd=tmp_path,
        env={
            **os.environ,
            **inputs,
            "ARGUMENTS": "--timeout 300\n--resets 20\n",
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    expected = "validate a.fmu --timeout 300 --resets 20 --junit j.xml --annotations github"
    assert done.stdout.split() == expected.split()


def test_steps_of_the_action_are_shell() -> None:
    steps = [s for s in read(ACTION)["runs"]["steps"] if "run" in s]
    assert len(steps) == 2
    for part in steps:
        assert part["shell"] == "bash"
        # An input that is part of the script could run anything.
        assert "${{" not in part["run"]
        done = subprocess.run(["bash", "-n", "-c", part["run"]], capture_output=True, timeout=20)
        assert done.returncode == 0, done.stderr


def test_the_action_installs_into_a_folder_of_its_own(tmp_path: Path) -> None:
    """With a program in place of Python that writes down how it is called."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(
        '#!/bin/bash\necho "$@" >>"$RUNNER_TEMP/calls"\n'
        '[ "$2" != venv ] || { mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; }\n'
    )
    python.chmod(0o755)
    added = tmp_path / "path"
    subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("Install fmident")["run"]],
        env={
            "PATH": f"{python.parent}:/usr/bin:/bin",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_PATH": str(added),
            "PACKAGE": "a folder",
        },
        check=True,
        timeout=20,
    )
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0] == f"-m venv {tmp_path}/fmident"
    assert calls[1].endswith("a folder")
    assert added.read_text() == f"{tmp_path}/fmident/bin\n"


# ------------------------------------------------------------------------------ the release


@pytest.fixture
def release_notes() -> ModuleType:
    """Return the script of the release workflow."""
    spec = importlib.util.spec_from_file_location("notes", ROOT / "ci" / "release_notes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Return the files that say a version, all of the same."""
    (tmp_path / "toolchain" / "fmident").mkdir(parents=True)
    (tmp_path / "toolchain" / "fmident" / "_version.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## Unreleased\n\n### Added\n\n## 1.2.0\n\n### Added\n\n- this\n\n"
        "## 1.1.0\n\n- old\n"
    )
    return tmp_path


def test_notes_are_those_of_the_version(release_notes: ModuleType, release: Path) -> None:
    assert release_notes.notes("v1.2.0", release) == "### Added\n\n- this\n"


@pytest.mark.parametrize("tag", ["1.2.0", "v1.1.0", "v1.3.0", "v1.2"])
def test_another_tag_is_refused(release_notes: ModuleType, release: Path, tag: str) -> None:
    with pytest.raises(ValueError, match="the tag is"):
        release_notes.notes(tag, release)


def test_a_version_without_changes_is_refused(release_notes: ModuleType, release: Path) -> None:
    changelog = release / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## 1.2.0", "## 1.2.1"))
    with pytest.raises(ValueError, match=r"nothing under '## 1\.2\.0'"):
        release_notes.notes("v1.2.0", release)


def test_entries_of_no_version_are_refused(release_notes: ModuleType, release: Path) -> None:
    changelog = release / "CHANGELOG.md"
    changelog.write_text(
        changelog.read_text().replace("### Added\n\n## ", "### Added\n\n- x\n\n## ")
    )
    with pytest.raises(
        ValueError, match=r"entries under '## Unreleased': move them to '## 1\.2\.0'"
    ):
        release_notes.notes("v1.2.0", release)


def test_the_files_of_the_repository_say_the_same_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert read(ROOT / "CITATION.cff")["version"] == version


def test_the_changelog_has_no_entry_twice() -> None:
    """Merges keep the lines of both sides (.gitattributes): an entry that was moved comes back."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)
    assert sorted({entry for entry in entries if entries.count(entry) > 1}) == []
