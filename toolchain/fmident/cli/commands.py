"""The commands: what each is for, its arguments, and which function runs it.

The module of a command is imported when it is run: any ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fmident.cli.usage import (
    ANNOTATIONS,
    JSON,
    PROBLEM,
    RESULT,
    SUBJECT,
    Command,
    Option,
    analysis,
    count,
    level,
    names,
    override,
    positive,
    repeated,
)

COMMANDS = {
    "init": Command(
        "start",
        "start:run_init",
        "write a study to start from, or one of the examples",
        """\
  fmident init study
  fmident init --example delta my-robot
  fmident init --list
  fmident init --from measured.csv --fmu model.fmu --parameters m,d study

With --from and --fmu: a problem file for your own model and data. Columns become inputs and
outputs where names and units leave no doubt; the rest of the file is a comment to choose from.
Without --example: a small Modelica model, measured data, a problem file and a catalogue.
A folder that is not empty is refused; nothing is overwritten.""",
        (
            Option(
                "folder FOLDER?",
                "where to write it (the current folder); is made if it does not exist",
            ),
            Option("--example NAME", "an example instead; --list shows them"),
            Option("--list", "list the examples, write nothing"),
            repeated(
                "--from DATA",
                "measured data: a problem file for it and --fmu",
                type=Path,
                dest="data",
            ),
            Option("--fmu FILE", "model of --from"),
            Option("--parameters NAME,...", "of --fmu: those to identify", type=names, default=()),
        ),
    ),
    "app": Command(
        "start",
        "app:run",
        "do the whole work in a browser",
        """\
  fmident app
  fmident app problem.toml
  fmident app model.fmu measured.csv

Opens a page of this machine in the browser. It edits the problem file, by default
problem.toml of this folder, and runs the commands of fmident. Files from elsewhere are
copied into the folder. Needs: pip install 'fmident[app]'.""",
        (
            Option("files FILE*", "a problem file, an FMU, data files"),
            Option("--port N", "of the page; a free one by default", default=0),
            Option("--no-browser", "only print the address"),
        ),
    ),
    "build": Command(
        "start",
        "build:run",
        "compile Modelica classes to FMUs",
        """\
  fmident build Mechanisms.FMUs.DeltaInverse
  fmident build path/to/Pumps.mo --class Pumps.Centrifugal --tolerance 1e-8
  fmident build --all -o build/fmus

Without --source, the class is looked for in modelica/ here and in the folders above,
then in the library that comes with fmident, then where OpenModelica keeps libraries.
What a file of your own uses is found as OpenModelica finds it: beside it, in
MODELICAPATH, in OPENMODELICALIBRARY, in ~/.openmodelica/libraries. Without --class,
a file with several models lists them. --all builds the
catalogue (fmus/catalog.toml) and checks the interface of every FMU. An FMU that is up to
date is left alone.

--compiler auto takes the embedded compiler. Where that refuses a class for what it does not
support, and OpenModelica can run here, OpenModelica builds it, which a note says.

Without -o, an FMU goes into fmus/ of the project: of the folder that holds the source in
modelica/; else of the nearest folder, here or above, with modelica/ or fmus/catalog.toml;
else of this folder. fmus/ is made when it is not there.""",
        (
            Option("target CLASS|PATH?", "full Modelica name, or a file or package"),
            Option("--class CLASS", "which class of PATH to build", dest="class_name"),
            Option("--all", "all FMUs of the catalogue"),
            Option("--catalog FILE", "catalogue of --all (fmus/catalog.toml)"),
            repeated("--source PATH", "Modelica file, or folder of packages"),
            Option(
                "-o",
                "--output FILE",
                "the FMU; by default fmus/CLASS.fmu of the project, see below; "
                "with --all a folder, by default that of the catalogue",
            ),
            Option(
                "--compiler NAME",
                "auto (see below), embedded, openmodelica, or another that 'fmident plugins' lists",
                default="auto",
            ),
            Option(
                "--platforms NAME,...",
                "what the FMU holds binaries for: linux64, win64, darwin64, linux-aarch64, "
                "darwin-aarch64, or all; by default this machine's",
                type=names,
                default=(),
            ),
            Option("--tolerance NUMBER", "default relative tolerance of the integrator in the FMU"),
            Option(
                "--fmi VERSION",
                "version of FMI, where the compiler can choose (--option fmi=VERSION)",
            ),
            repeated("--option KEY=VALUE", "option of the compiler"),
            Option(
                "--print",
                "print what the embedded compiler makes of the equations, and build nothing",
                dest="printed",
                choices=("equations",),
            ),
            Option("--force", "build even when up to date"),
            ANNOTATIONS,
        ),
    ),
    "doctor": Command(
        "start",
        "start:run_doctor",
        "show versions and what works on this machine",
        """\
  fmident doctor""",
        (),
    ),
    "plugins": Command(
        "start",
        "start:run_plugins",
        "list plugins and what they bring along, or the options of one estimator, cost or executor",
        """\
  fmident plugins
  fmident plugins least-squares""",
        (
            Option(
                "name", "an estimator, a cost or an executor, whose options are listed", nargs="?"
            ),
        ),
    ),
    "data": Command(
        "data",
        "data:run",
        "what a data file holds, and an [[experiments]] table to start from",
        """\
  fmident data measured.csv
  fmident data measured.csv --fmu axis.fmu
  fmident data logger.txt --set decimal=, --set skip_rows=12""",
        (
            Option("file", "data file", type=Path),
            Option("--fmu FMU", "look for its inputs and outputs among the columns"),
            Option("--time COLUMN", "time column"),
            repeated(
                "--set KEY=VALUE",
                "key of [[experiments]] that says how the file is written, such as decimal=,",
            ),
            JSON,
        ),
    ),
    "simulate": Command(
        "data",
        "simulate:run",
        "simulate an FMU once",
        """\
  fmident simulate axis.fmu --stop-time 2 --step 0.001 --set M=95 -o axis.csv
  fmident simulate axis.fmu --data measured.csv --inputs q_ref=position

With --data, the simulation runs over the times of the file. Inputs of the FMU take the
column of the same name unless --inputs names another one. --inputs NAME=NUMBER holds an
input constant. Units in the header are converted to those of the FMU. The file that is
written holds inputs, outputs and their units, and the values of --set: it can be read
as data, or be a reference.""",
        (
            Option("fmu", "the FMU", type=Path),
            Option("--data CSV", "times and inputs"),
            repeated("--inputs NAME=COLUMN", "column (or number) for an input"),
            repeated(
                "--interpolation NAME=WORD",
                "of an input between samples: hold, linear or mean; without NAME= of all",
            ),
            Option("--time COLUMN", "column of the time (time or t, else the first)"),
            Option("--start-time S", "seconds"),
            Option("--stop-time S", "seconds"),
            Option("--step S", "communication step, seconds", type=positive),
            Option(
                "--substeps N", "steps of a Co-Simulation from one instant to the next", default=1
            ),
            repeated("--set NAME=VALUE", "parameter or start value"),
            repeated("--outputs NAMES", "variable to record, by default all outputs"),
            Option("--tolerance NUMBER", "relative tolerance for the FMU"),
            Option(
                "--interface",
                "of an FMU that has both; auto takes Co-Simulation",
                choices=("auto", "co-simulation", "model-exchange"),
                default="auto",
            ),
            Option("-o", "--output CSV", "write the trajectories"),
            Option("--plot PNG", "draw the trajectories"),
        ),
    ),
    "design": Command(
        "data",
        "design:run",
        "find a motion that distinguishes the parameters",
        """\
  fmident design design.toml -o excitation.csv

The file has [model] and [parameters] as in a problem file, [outputs] with the standard
deviation of each, [design], and [[axes]] or [sine]. The CSV holds one period of the motion, or
the sine.""",
        (
            Option("design", "the design file (TOML)", type=Path),
            Option("-o", "--output CSV", "write the motion (excitation.csv)"),
        ),
    ),
    "check": Command(
        "estimate",
        "check:run",
        "look at a problem file before any run: can it be estimated, and how well?",
        """\
  fmident check problem.toml
  fmident check problem.toml --quick --json check.json
  fmident check problem.toml --global-method sobol --report check.html

Ends with 0 when the problem can be estimated, 1 when something makes that impossible,
2 when the file, its data or its FMU cannot be used at all.""",
        (
            PROBLEM,
            Option(
                "--quick",
                "only the initial point: no other points inside the bounds, no finer grid",
            ),
            Option(
                "--global-method METHOD",
                "which parameters matter anywhere in their bounds: sobol (default) or morris",
                nargs="?",
                const="sobol",
            ),
            Option(
                "--samples N",
                "of --global-method: N (parameters + 2) simulations of each experiment for "
                "sobol (default 512), N (parameters + 1) for morris (default 30)",
            ),
            Option("--seed N", "of --global-method", default=1),
            Option("--report FILE", "write the page with pictures, as HTML"),
            Option("--json FILE", "write the report as JSON, too"),
            override("evaluation.tolerance=1e-8"),
        ),
        former={"--global": "--global-method"},
    ),
    "estimate": analysis(
        "estimate",
        "estimates:Estimation",
        "identify the parameters of a problem file",
        """\
  fmident estimate problem.toml -o results
  fmident estimate problem.toml --set evaluation.tolerance=1e-8
  fmident estimate problem.toml -o results --resume

The result folder holds result.json, report.html, parameters.csv, fit.csv,
history.csv and problem.toml. It appears when it is complete. A result that is
there already is kept as NAME.1, NAME.2, ...; --force replaces it.""",
        (
            SUBJECT,
            repeated(
                "--export",
                "write the values into the result folder as Modelica or SSV, too",
                choices=("modifier", "record", "ssv"),
            ),
            repeated("--hold-out NAME", "experiment that is not fitted, but predicted at the end"),
            Option(
                "--linear-intervals",
                "compute no profiles where the model is curved (stages have none)",
            ),
        ),
        setting="evaluation.tolerance=1e-8",
    ),
    "follow": Command(
        "estimate",
        "follow:run",
        "estimates as samples arrive, from a growing file or a pipe",
        """\
  logger | fmident follow problem.toml -
  fmident follow problem.toml growing.csv --patience 60 --print-every 10

Prints one line of CSV for each estimate, until the data end or Ctrl-C.""",
        (
            PROBLEM,
            Option(
                "data DATA",
                "a CSV file that may still grow, or - (standard input), in place of the data "
                "of the first experiment",
            ),
            Option(
                "--patience SECONDS", "how long to wait for more at the end of a file", default=0.0
            ),
            Option("--print-every N", "print every N-th estimate only", type=count, default=1),
            override("estimator.window=0.5"),
        ),
    ),
    "plot-cost": Command(
        "estimate",
        "plot_cost:run",
        "draw the cost over pairs of parameters, and count its minima",
        """\
  fmident plot-cost problem.toml --parameters k m --grid 41 -o cost.png
  fmident plot-cost problem.toml --parameters k m --result results/problem

The other parameters are held at their initial values, or at those of --result. Of three or
more parameters every pair is drawn.""",
        (
            PROBLEM,
            Option(
                "--parameters NAME+", "two or more free parameters; all of them when they are few"
            ),
            Option("--grid N", "values of each parameter", default=41),
            repeated(
                "--range NAME=LOW:HIGH", "draw a parameter over this range instead of its bounds"
            ),
            Option(
                "--result FOLDER",
                "result of 'fmident estimate': marked, and holds the other parameters",
            ),
            override("cost.smoothing=4"),
            Option("-o", "--output FILE", "PNG, SVG or PDF", default=Path("cost.png")),
            Option("--csv FILE", "write all costs as a table, too"),
        ),
    ),
    "report": Command(
        "after",
        "results:run_report",
        "show a result again",
        """\
  fmident report results
  fmident report results --open
  fmident report results/problem-bootstrap --again
  fmident report results --static --format pdf""",
        (
            Option(
                "result",
                "result folder of 'fmident estimate', profile, bootstrap, predict or "
                "cross-validate, or its JSON file",
                type=Path,
            ),
            Option("--open", "open the page in the browser of this machine"),
            Option("--again", "make the page and its pictures anew from the files of the folder"),
            Option(
                "--static",
                "write the plots as pictures for a paper into 'figures' of the result folder",
            ),
            Option("--format", "of these pictures", choices=("svg", "pdf"), default="svg"),
        ),
    ),
    "profile": analysis(
        "after",
        "profiles:Profiling",
        "how far can each parameter go, when all others make up for it?",
        """\
  fmident profile problem.toml
  fmident profile problem.toml --result results/problem --parameters k d
  fmident profile problem.toml --pairs k d
  fmident profile problem.toml -o profiles --resume

Each parameter is moved away from the estimate, all others fitted again at each value, until
the cost has risen to the threshold of the confidence level. Without --result the problem is
estimated first. The result folder holds profiles.json, profiles.csv, profiles.html and the
pictures tau.png and cost.png.""",
        (
            SUBJECT,
            Option(
                "--parameters NAME+",
                "free parameters to profile; those of --pairs by default, or all",
            ),
            Option(
                "--pairs NAME",
                "two free parameters whose joint region is drawn",
                nargs=2,
                action="append",
                default=[],
            ),
            RESULT,
            level("intervals"),
            Option(
                "--accuracy A",
                "of the ends, in relation to their distance from the estimate",
                default=1e-3,
            ),
            Option("--stage NAME", "stage to profile, of a problem with stages; the last one"),
        ),
        suffix="-profiles",
        former={"--pair": "--pairs"},
    ),
    "bootstrap": analysis(
        "after",
        "bootstraps:Bootstrapping",
        "how far do estimates of replicated data scatter?",
        """\
  fmident bootstrap problem.toml --result results/problem
  fmident bootstrap problem.toml -n 2000 --method block
  fmident bootstrap problem.toml -o bootstrap --resume

Each replicate is what the estimate predicts, with resampled residuals or new noise, and is fitted
from the estimate. Without --method, tests of the residuals choose it. Without --result the problem
is estimated first. The result folder holds bootstrap.json, replicates.csv,
bands.csv, bootstrap.html and pictures.""",
        (
            SUBJECT,
            RESULT,
            Option("-n", "--replicates N", "how many", default=500),
            Option(
                "--method",
                "where the noise comes from; by default as tests of the residuals say",
                choices=("residual", "wild", "block", "parametric"),
            ),
            Option(
                "--weights",
                "factors of --method wild",
                choices=("rademacher", "mammen"),
                default="rademacher",
            ),
            Option(
                "--block-length SAMPLES",
                "of --method block; by default chosen by the correlation of the residuals",
            ),
            level("intervals"),
            Option("--seed N", "of the random numbers", default=0),
        ),
        suffix="-bootstrap",
    ),
    "predict": analysis(
        "after",
        "predictions:Predicting",
        "what will be measured next, and how sure is that?",
        """\
  fmident predict results/problem
  fmident predict results/problem --data new.csv
  fmident predict results/problem --bootstrap results/problem-bootstrap

Outputs are predicted with two bands: of the mean, from the uncertainty of the parameters, and of
new samples, with the noise. Samples that were measured are counted. The result folder holds
prediction.json, bands.csv, prediction.html and pictures.""",
        (
            Option("result", "result folder of 'fmident estimate'", type=Path),
            repeated(
                "--data FILE",
                "data of a new experiment, with the columns of one of the problem; those of"
                " outputs may be missing",
            ),
            Option("--like NAME", "experiment whose columns new data have; the first one"),
            Option(
                "--bootstrap FOLDER",
                "result of 'fmident bootstrap': its replicates in place of the covariance",
            ),
            Option(
                "--linearised",
                "by the covariance, also where the result has draws from a posterior",
            ),
            Option(
                "--fitted",
                "predict the experiments that were fitted, too (default)",
                action=argparse.BooleanOptionalAction,
                default=True,
            ),
            level("bands"),
        ),
        suffix="-prediction",
        resume=False,
        former={"--new-only": "--no-fitted"},
    ),
    "cross-validate": analysis(
        "after",
        "cross_validations:CrossValidating",
        "how well does a model predict what it was not fitted to?",
        """\
  fmident cross-validate problem.toml
  fmident cross-validate coulomb.toml lugre.toml --by blocks --folds 8 --gap 0.2
  fmident cross-validate problem.toml -o folds --resume

Each experiment, or each block in time, is left out once, all else is fitted, and what was left out
is predicted. Several problem files are models of the same samples. The result folder holds
cross-validation.json, scores.csv, parameters.csv, predictions.csv, cross-validation.html and the
pictures scores.png and parameters.png.""",
        (
            Option(
                "problems PROBLEM+",
                "problem files, or folders of results: models of the same samples",
            ),
            Option(
                "--by",
                "what is left out; by default experiments, where there are several",
                choices=("experiments", "blocks"),
            ),
            Option("--folds K", "number of blocks in time (default 5)"),
            Option(
                "--gap S",
                "samples nearer than this to a block are not fitted either, s",
                default=0.0,
            ),
        ),
        suffix="-folds",
    ),
    "compare": Command(
        "after",
        "results:run_compare",
        "results side by side: parameters, fit, validation, which model to take",
        """\
  fmident compare results/problem results/problem.1
  fmident compare linear quadratic --json comparison.json""",
        (
            Option(
                "results RESULT+",
                "result folder of 'fmident estimate', or its result.json; two or more",
            ),
            JSON,
        ),
    ),
    "export": Command(
        "after",
        "results:run_export",
        "write identified values as Modelica or SSV",
        """\
  fmident export results
  fmident export results --modelica record -o DeltaIdentified.mo
  fmident export results --ssv delta.ssv
  fmident export results --set mass2=0.22 --set mass3=0.25

The modifier is a declaration to be put into a model; the record is a class with units,
descriptions and standard errors. Both hold all digits. Where single elements of arrays
were identified, --fmu has the others. Of a base parameter the members may be chosen: the
others move along, so that it keeps its value.""",
        (
            Option("result", "result folder of 'fmident estimate', or its result.json", type=Path),
            Option(
                "--modelica",
                "Modelica text; the modifier is what is written when nothing is asked for",
                choices=("modifier", "record"),
            ),
            Option("--ssv FILE", "write an SSV file (SSP 1.0)"),
            Option("-o", "--output FILE", "file for the Modelica text (terminal)"),
            Option("--class NAME", "Modelica class (the FMU's model)", dest="class_name"),
            Option("--name NAME", "of the component, the record or the parameter set"),
            Option("--fmu FILE", "the FMU, for elements that were not identified"),
            repeated("--set NAME=VALUE", "value of a member of base parameters"),
        ),
    ),
    "validate": Command(
        "CI",
        "validate:run",
        "check FMUs: description, interface, simulation, reference, memory",
        """\
  fmident validate fmus/*.fmu
  fmident validate --all --junit results.xml
  fmident validate pump.fmu --reference measured.csv --tube 1e-3

An FMU of the catalogue (catalog.toml beside it, or --catalog) must agree with its entry there.
Columns of a reference are named like the FMU's variables, 'time [s]' first; inputs among them
are fed, the others compared.

A check fails where results are wrong, or the FMU is not what the catalogue says. What is
against the standard, or less exact than one would wish, is a finding; --strict fails on
these, too.""",
        (
            Option("fmus FMU*", "files to check"),
            Option("--all", "all FMUs of the catalogue"),
            Option("--catalog FILE", "the catalogue"),
            Option("--folder FOLDER", "where the FMUs of --all are (catalogue's)"),
            repeated("--reference CSV", "a trajectory that the FMUs must follow"),
            Option(
                "--tube SHARE",
                "half width of the tube around --reference over a signal's range",
                type=positive,
                default=1e-5,
            ),
            Option("--tube-time S", "its half width in time", default=0.0),
            Option("--junit FILE", "write JUnit XML, too"),
            Option("--timeout S", "limit of one check", type=positive, default=60.0),
            Option("--resets N", "runs of the memory check", default=1000),
            Option("--jobs N", "FMUs at the same time (one per processor, up to 4)"),
            Option("--strict", "findings are failures, too"),
            Option("-v", "--verbose", "all checks, also of many FMUs, with all that was found"),
            ANNOTATIONS,
        ),
    ),
}
"""Commands by name, in the order of the help."""
