# ruff: noqa: T201, PTH109, PTH123  # a program: it prints, and asks for its folder
"""Takes omc's place in the tests: a program that answers as recorded.

``omc --version``, ``omc [options] file.mos``, ``omc --interactive=zmq -z=suffix``. It
writes FMUs without a working binary, and the litter of a build. Of the expressions that
were not recorded (``getSimulationOptions``, ``getClassComment``, ``getClassNames`` with
content) the form is the documented one; the description of a wrapped class is made up
from the wrapper's text after the rules that ``Wrapper.modelDescription.xml`` shows.
Libraries are found and loaded as the proof with 1.26.9 shows it: ``loadModel`` by name and
version, build metadata apart, silently with all that the library uses; ``loadFile`` loads what
the file uses and says so. A file that is loaded is parsed no further than its annotation.
After a failed ``buildModelFMU``, ``getErrorString()`` of a script is empty within ``print``, and by
itself gives what OMPython gets.

Environment: FAKE_OMC_LOG (file for what was asked), FAKE_OMC_SLEEP ("buildModelFMU:30"),
FAKE_OMC_DIE (function at which it ends), FAKE_OMC_FLAGS ("missing": no solver settings),
FAKE_OMC_SILENT (scripts get no reason), FAKE_OMC_BREAK ("ramps": the wrapped class cannot be
built), FAKE_OMC_EMBEDDED (classes are compiled for real, by the embedded compiler).
"""

from __future__ import annotations

import copy
import os
import re
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

sys.path.insert(0, str(Path(__file__).parent))
import om_recordings as om

RAISED = re.compile(
    r"^\d+: \[(\w+):(\w+):(\d+)\] \[(.*?):(true|false):(\d+):(\d+):(\d+):(\d+)\] ?", re.MULTILINE
)
PRINTED = re.compile(
    r"^(?:\[(.*?):(\d+):(\d+)-(\d+):(\d+):\w+\] )?(Error|Warning|Notification): ", re.MULTILINE
)
NAMES = {
    "Modelica.Mechanics.Rotational.Components": "{Inertia,SpringDamper,NoSuchThings,Gearbox}",
    "": "{Modelica,Complex,ModelicaServices}",
}


class Omc:
    """State of one omc."""

    def __init__(self, flags: list[str]) -> None:
        self.flags = flags
        self.files: dict[str, Path] = {}
        self.loaded: list[Path] = []
        self.libraries: dict[str, str] = {}
        self.session = {(r.function, r.subject): r for r in om.ompython()}
        self.scripts = om.scripts()

    def evaluate(self, expression: str) -> tuple[str, str]:
        """Return value and messages, as a script prints them."""
        function, subject = om.key(expression)
        log(expression)
        if os.environ.get("FAKE_OMC_SLEEP", "").partition(":")[0] == function:
            time.sleep(float(os.environ["FAKE_OMC_SLEEP"].partition(":")[2]))
        if os.environ.get("FAKE_OMC_DIE") == function:
            print("Segmentation fault", flush=True)
            os._exit(139)
        if os.environ.get("FAKE_OMC_EMBEDDED") and function in ("checkModel", "buildModelFMU"):
            return self.compile(function, expression)
        special = getattr(self, f"do_{function}", None)
        if special is not None:
            return special(expression, subject)
        return self.recorded(function, subject)

    def compile(self, function: str, expression: str) -> tuple[str, str]:
        """Compile for real, through the embedded compiler."""
        from fmident.compilers.base import BuildRequest
        from fmident.compilers.embedded import EmbeddedCompiler

        name = re.findall(r"\(([\w.]+)", expression)[0]
        if function == "checkModel":
            return f'"Check of {name} completed successfully."', ""
        prefix = re.findall(r'fileNamePrefix="(\w+)"', expression)[0]
        packages = [f.parent for f in self.loaded if f.name == "package.mo"]
        files = [f for f in self.loaded if f.name != "package.mo"]
        own = [Path("all.mo").absolute()] if files else []
        for file in own:  # in one file, as omc has them in one memory
            file.write_text("\n".join(f.read_text() for f in files))
        fmu = Path(f"{prefix}.fmu").absolute()
        EmbeddedCompiler().build(BuildRequest(name, (*own, *packages), fmu))
        with zipfile.ZipFile(fmu, "a") as archive:
            archive.writestr(f"resources/{prefix}_flags.json", b'{"s": "cvode"}')
        return f'"{fmu}"', ""

    def recorded(self, function: str, subject: str) -> tuple[str, str]:
        text = self.scripts.get((function, subject))
        if text is not None:
            text = om.placed(text, os.getcwd())
            match = re.match(r'"(?:[^"\\]|\\.)*"|\w+', text)
            assert match
            return match[0], text[match.end() :].lstrip("\n")
        known = self.session.get((function, subject))
        if known is not None and known.raised is not None:
            return "false", printed(om.placed(known.raised, os.getcwd()))
        if known is not None:
            return literal(known.value), ""
        return "", f"Error: Class {subject} not found in scope <top>.\n"

    def raised(self, expression: str) -> str:
        """Return what OMPython raises for an expression, as it is printed."""
        known = None if os.environ.get("FAKE_OMC_SILENT") else self.session.get(om.key(expression))
        raised = known.raised if known else None
        return "" if raised is None else printed(om.placed(raised, os.getcwd()))

    def do_cd(self, expression: str, _: str) -> tuple[str, str]:
        os.chdir(re.findall(r'"(.*)"', expression)[0])
        return f'"{os.getcwd()}"', ""

    def do_setEnvironmentVar(self, expression: str, _: str) -> tuple[str, str]:
        name, value = re.findall(r'"(.*?)"', expression)
        os.environ[name] = value
        return "true", ""

    def do_setCommandLineOptions(self, expression: str, _: str) -> tuple[str, str]:
        self.flags += re.findall(r'"(.*)"', expression)[0].split()
        return "true", ""

    def do_loadFile(self, expression: str, subject: str) -> tuple[str, str]:
        file = Path(re.findall(r'"(.*)"', expression)[0])
        self.files[subject] = file
        self.loaded.append(file)
        if ("loadFile", subject) in self.scripts:
            return self.recorded("loadFile", subject)
        if not file.is_file():
            return "false", f"Error: file {file} not found\n"
        said = "" if "uses=false" in expression else self.load_used(subject, file)
        if file.name == "package.mo":
            name, _, version = file.parent.name.partition(" ")
            self.libraries.setdefault(name, version)
        return "true", said

    def load_used(self, name: str, file: Path) -> str:
        """Load what a file uses; return the notifications."""
        said = ""
        for used, version in uses(file):
            if used not in self.libraries and self.find(used, version) is not None:
                self.load(used, version)
                said += (
                    f"Notification: Automatically loaded package {used} {version} due to uses"
                    f" annotation from {name}.\n"
                )
        return said

    def find(self, name: str, version: str) -> Path | None:
        folders = os.environ.get("OPENMODELICALIBRARY", "").split(os.pathsep)
        home = Path.home() / ".openmodelica" / "libraries"
        for folder in [Path(f) for f in folders if f] or [home]:
            for place in sorted(folder.glob(f"{name} *"), reverse=True):
                found = place.name.partition(" ")[2].partition("+")[0]
                if version in ("", found):
                    return place
        return None

    def load(self, name: str, version: str) -> bool:
        place = self.find(name, version)
        if place is None:
            return False
        self.libraries[name] = version
        log(f"loaded {place.name}")
        for used, asked in uses(place / "package.mo"):
            if used not in self.libraries:
                self.load(used, asked)
        return True

    def do_loadModel(self, expression: str, subject: str) -> tuple[str, str]:
        version = (re.findall(r'"(.*)"', expression) or [""])[0]
        if subject in self.libraries or self.load(subject, version):
            return "true", ""
        if ("loadModel", subject) in self.session:
            return self.recorded("loadModel", subject)
        path = f"{Path.home()}/.openmodelica/libraries/"
        return "false", (
            f"Error: Failed to load package {subject} ({version or 'default'}) using MODELICAPATH"
            f" {path}.\n"
        )

    def do_checkModel(self, expression: str, subject: str) -> tuple[str, str]:
        if ("checkModel", subject) in self.scripts:
            return self.recorded("checkModel", subject)
        if subject not in self.files and subject.partition(".")[0] not in self.libraries:
            return '""', f"Error: Class {subject} not found in scope <TOP>.\n"
        text = f"Check of {subject} completed successfully.\nClass {subject} has 3"
        return f'"{text} equation(s) and 3 variable(s)."', ""

    def do_getSimulationOptions(self, _: str, subject: str) -> tuple[str, str]:
        found = annotation(self.text(subject))
        stop, tolerance = found.get("StopTime", "1.0"), found.get("Tolerance", "1e-06")
        interval = found.get("Interval", "0.002")
        return f"({found.get('StartTime', '0.0')},{stop},{tolerance},500,{interval})", ""

    def do_getClassComment(self, _: str, subject: str) -> tuple[str, str]:
        match = re.search(rf'model {subject}\s+("[^"]*")', self.text(subject))
        return (match[1] if match else '""'), ""

    def do_getClassNames(self, _: str, subject: str) -> tuple[str, str]:
        return NAMES.get(subject, "{}"), ""

    def do_buildModelFMU(self, expression: str, subject: str) -> tuple[str, str]:
        prefix = re.findall(r'fileNamePrefix="(\w+)"', expression)[0]
        for litter in (f"{prefix}.c", f"{prefix}_FMU.log", f"{prefix}.makefile"):
            Path(litter).write_text("litter\n")
        if subject == "fmident_ramp":
            if os.environ.get("FAKE_OMC_BREAK") == "ramps":
                place = f"[{self.files[subject]}:3:1-3:9:writable] "
                return '""', f"{place}Error: Internal error in fmident_component.x\n"
            root = ramped(self.text(subject), self.describe)
        elif subject == "fmident_export" or subject not in self.session_classes():
            root = self.describe(subject)
        else:
            value, messages = self.recorded("buildModelFMU", subject)
            if value == '""':
                return value, messages
            root = self.describe(subject)
        root.set("modelName", subject)
        self.write(Path(f"{prefix}.fmu"), root, prefix)
        return f'"{os.getcwd()}/{prefix}.fmu"', ""

    def session_classes(self) -> set[str]:
        return {name for function, name in self.scripts if function == "buildModelFMU"}

    def describe(self, subject: str) -> ET.Element:
        """Return the description of a class: recorded, or of what it extends."""
        text = self.text(subject)
        if subject == "fmident_export":
            root = self.describe(re.findall(r"extends ([\w.]+)", text)[0])
        else:
            known = om.RECORDED / f"{subject}.modelDescription.xml"
            if not known.is_file():
                known = om.RECORDED / "Wrapper.modelDescription.xml"
            root = ET.parse(known).getroot()
        return with_experiment(root, text)

    def write(self, file: Path, root: ET.Element, prefix: str) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("modelDescription.xml", ET.tostring(root, "UTF-8"))
            archive.writestr(f"binaries/linux64/{prefix}.so", b"no machine code")
            archive.writestr(f"sources/{prefix}.c", b"int main;")
            solver = [f for f in self.flags if f.startswith("--fmiFlags=")]
            if solver and os.environ.get("FAKE_OMC_FLAGS") != "missing":
                archive.writestr(f"resources/{prefix}_flags.json", b'{"s": "cvode"}')

    def text(self, subject: str) -> str:
        file = self.files.get(subject)
        top, _, inside = subject.partition(".")
        for package in self.loaded if inside else []:
            if package.name == "package.mo" and package.parent.name == top:
                file = package.parent.joinpath(*inside.split(".")).with_suffix(".mo")
        return file.read_text() if file and file.is_file() else ""


def uses(file: Path) -> list[tuple[str, str]]:
    """Return what a file names in its annotation."""
    found = re.search(r"uses\s*\((.*?\))\s*\)", file.read_text(), re.DOTALL)
    return re.findall(r'(\w+)\s*\(\s*version\s*=\s*"([^"]*)"', found[1]) if found else []


def annotation(text: str) -> dict[str, str]:
    found = re.search(r"experiment\(([^)]*)\)", text)
    return dict(re.findall(r"(\w+)=([-+.\deE]+)", found[1])) if found else {}


def with_experiment(root: ET.Element, text: str) -> ET.Element:
    found = annotation(text)
    element = root.find("DefaultExperiment")
    assert element is not None
    names = {"StartTime": "startTime", "StopTime": "stopTime", "Tolerance": "tolerance"}
    for name, attribute in {**names, "Interval": "stepSize"}.items():
        if name in found:
            element.set(attribute, found[name])
    return root


def ramped(text: str, describe) -> ET.Element:
    """Make up the description of a wrapped class from its wrapper's text."""
    base = re.findall(r"^  ([\w.]+) fmident_component;", text, re.MULTILINE)[0]
    root = copy.deepcopy(describe(base))
    root.set("guid", "{00000000-0000-4000-8000-000000000001}")
    variables = root.find("ModelVariables")
    assert variables is not None
    top = []
    references = len(variables)
    for variable in variables:
        name = variable.get("name", "")
        inner = re.sub(r"^(der\()?(?:_D_outputAlias_)?", r"\1fmident_component.", name)
        if name.startswith("_D_outputAlias_") or "der(_D_outputAlias_" in name:
            variable.set("name", inner)
        elif variable.get("causality") == "input":
            variable.set("name", f"fmident_component.{name}")
            del variable.attrib["causality"]
            variable[0].attrib.pop("start", None)
        elif variable.get("causality") == "output":
            top.append(variable)  # an alias of what is inside; keeps its place
            for attribute in ("unit", "nominal"):
                variable[0].attrib.pop(attribute, None)
        else:
            variable.set("name", inner)
    equations = dict(re.findall(r"(fmident_output\w+\[\d+\]) = fmident_component\.(.*);", text))
    for new, old in equations.items():
        next(v for v in top if v.get("name") == old).set("name", new)
    for kind, name, count in re.findall(r"input (\w+) (fmident_\w+)(?:\[(\d+)\])?", text):
        for k in range(1, int(count or 1) + 1):
            scalar = f"{name}[{k}]" if count else name
            variable = ET.SubElement(
                variables,
                "ScalarVariable",
                {"name": scalar, "valueReference": str(references), "causality": "input"},
            )
            ET.SubElement(variable, kind, {"start": "0.0" if kind == "Real" else "0"})
            references += 1
    return with_experiment(root, text)


def literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "{" + ",".join(str(v) for v in value) + "}"
    return f'"{value}"'


def printed(raised: str) -> str:
    lines = []
    for kind, level, number, file, _, *places, body in split(RAISED, raised):
        del kind, number
        place = "[{}:{}:{}-{}:{}:writable] ".format(file, *places) if file else ""
        lines.append(f"{place}{level.capitalize()}: {body.strip()}\n")
    return "".join(lines)


def split(pattern: re.Pattern[str], text: str) -> list[tuple[str, ...]]:
    found = list(pattern.finditer(text))
    ends = [*(m.start() for m in found[1:]), len(text)]
    return [(*m.groups(), text[m.end() : end]) for m, end in zip(found, ends, strict=False)]


def records(messages: str, raised: str | None) -> str:
    """Return messages as getMessagesStringInternal() does: newest first."""
    entries = []
    if raised is not None:
        for kind, level, number, file, ro, l0, c0, l1, c1, body in split(RAISED, raised):
            entries.append((kind, level, number, file, ro, l0, c0, l1, c1, body.strip()))
    else:
        for file, l0, c0, l1, c1, level, body in split(PRINTED, messages):
            place = (file or "", "false", l0 or "0", c0 or "0", l1 or "0", c1 or "0")
            entries.append(("translation", level.lower(), "1", *place, body.strip()))
    texts = []
    for kind, level, number, file, ro, l0, c0, l1, c1, body in reversed(entries):
        body = body.replace("\\", "\\\\").replace('"', '\\"')
        texts.append(
            "record OpenModelica.Scripting.ErrorMessage\n"
            "    info = record OpenModelica.Scripting.SourceInfo\n"
            f'    filename = "{file}",\n    readonly = {ro},\n    lineStart = {l0},\n'
            f"    columnStart = {c0},\n    lineEnd = {l1},\n    columnEnd = {c1}\n"
            "end OpenModelica.Scripting.SourceInfo;,\n"
            f'    message = "{body}",\n'
            f"    kind = .OpenModelica.Scripting.ErrorKind.{kind},\n"
            f"    level = .OpenModelica.Scripting.ErrorLevel.{level},\n"
            f"    id = {number}\nend OpenModelica.Scripting.ErrorMessage;"
        )
    return "{" + ",".join(texts) + "}\n"


def log(expression: str) -> None:
    if os.environ.get("FAKE_OMC_LOG"):
        with open(os.environ["FAKE_OMC_LOG"], "a") as file:
            file.write(expression + "\n")


def run_script(file: str, flags: list[str]) -> None:
    omc = Omc(flags)
    pending = last = ""
    for line in Path(file).read_text().splitlines():
        for statement in re.findall(r"((?:[^;\"]|\"(?:[^\"\\]|\\.)*\")+);", line):
            statement = statement.strip()
            if statement == "getErrorString()":
                print(om_quoted(pending or omc.raised(last)), flush=True)
            elif statement.startswith("print("):
                print(re.findall(r'"(.*)"', statement)[0], flush=True)
            else:
                last = statement
                value, pending = omc.evaluate(statement)
                print(value, flush=True)


def om_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def serve(suffix: str, flags: list[str]) -> None:
    import zmq

    socket = zmq.Context.instance().socket(zmq.REP)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    file = Path(tempfile.gettempdir()) / f"openmodelica.user.port.{suffix}"
    file.write_text(f"tcp://127.0.0.1:{port}")
    print(f"\nDumped server port in file: {file}", flush=True)
    omc = Omc(flags)
    pending = "{}\n"
    try:
        while True:
            expression = socket.recv_string()
            if expression == "quit()":
                return
            if expression == "getMessagesStringInternal()":
                socket.send_string(pending)
                pending = "{}\n"
                continue
            value, messages = omc.evaluate(expression)
            function, subject = om.key(expression)
            known = omc.session.get((function, subject))
            raised = known.raised if known else None
            if raised is not None:
                raised = om.placed(raised, os.getcwd())
            pending = records(messages, raised)
            socket.send_string(value + "\n")
    finally:
        file.unlink(missing_ok=True)


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print("OpenModelica 1.26.9~recorded")
        return
    suffix = [a.removeprefix("-z=") for a in arguments if a.startswith("-z=")]
    flags = [a for a in arguments if a.startswith("-")]
    log("omc " + " ".join(arguments))
    if suffix:
        serve(suffix[0], flags)
    else:
        run_script(arguments[-1], flags)


if __name__ == "__main__":
    main()
