"""Runs a compiler's own tests, of a checkout, by the compiler alone and with our hosts, each file in processes of its own,
and prints a line a file and every difference by name. Nothing of these tests is here.

A difference is a test that passes by the compiler alone and not with our hosts. It is one of `words` where only the text of
an error differs: the class is that which the test expects.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import system

SECONDS = 3600
"""Time limit of a file."""


@dataclass
class Ran:
    """What came of the tests of a file: outcome and reason by test, functions declared, and those left with reasons;
    seconds of builds, by the compiler alone and with our hosts."""

    outcomes: dict[str, tuple[str, str]] = field(default_factory=dict)
    declared: int = 0
    left: list[tuple[str, str]] = field(default_factory=list)
    builds: list[tuple[float, float]] = field(default_factory=list)

    @property
    def passed(self):
        return sum(outcome == "passed" for outcome, _ in self.outcomes.values())


def run(compiler, file, hosts, root):
    """Runs the tests of a file. One that ends the process is `died`, and the others are run without it."""
    ran, dead = Ran(), []
    while True:
        last = run_without(compiler, file, hosts, root, dead, ran)
        if last is None:
            return ran
        ran.outcomes[last] = ("died", "the process ended")
        dead.append(last)


def run_without(compiler, file, hosts, root, dead, ran):
    """Runs tests but those that are dead; returns the test that ended the process, if one did."""
    with tempfile.NamedTemporaryFile() as said:
        environment = os.environ | {"HOSTS": hosts, "HOSTS_OF": compiler, "HOSTS_SAID": said.name}
        words = ["-q", "-p", "hosts_hook", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", root]
        words += [word for test in dead for word in ("--deselect", test)]
        command = [sys.executable, "-m", "pytest", *map(str, words), str(file)]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=SECONDS)
        lines = list(map(json.loads, Path(said.name).read_text().splitlines()))
    last = None
    for line in lines:
        if "starts" in line:
            last = line["starts"]
        elif "test" in line:
            ran.outcomes[line["test"]] = (line["outcome"], line["why"])
        elif "stock" in line:
            ran.builds.append((line["stock"], line["ours"]))
        else:
            ran.declared += line["declared"]
            ran.left += map(tuple, line["left"])
            return None
    if last is None:
        raise RuntimeError(f"{file}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return last


def differences(stock, ours):
    """Returns the tests that pass by TVM alone only, with reasons."""
    passed = (test for test, (outcome, _) in stock.outcomes.items() if outcome == "passed")
    missing = ("missing", "it was not run")
    return {test: ours.outcomes.get(test, missing)[1] for test in passed if ours.outcomes.get(test, missing)[0] != "passed"}


def main(compiler, root, patterns, timed=False):
    """Runs files, which patterns name in a checkout, and prints a line for each. Raises if a test differs other than by
    words."""
    total, others, ratios = [0, 0, 0, 0], [], []
    for file in sorted(file for pattern in patterns for file in root.glob(pattern)):
        stock, ours = (run(compiler, file, hosts, root) for hosts in ("stock", "times" if timed else "ours"))
        differing = differences(stock, ours)
        counts = (ours.declared, len(ours.left), stock.passed, ours.passed)
        total = [a + b for a, b in zip(total, counts)]
        words = sum(why == "words" for why in differing.values())
        print(f"{file.relative_to(root)}: {said_of(counts, len(differing), words)}", flush=True)
        for test, why in differing.items():
            print(f"  {test.split('::', 1)[1]}: {why}")
        for name, reason in sorted(set(ours.left)):
            print(f"  left {name}: {reason}")
        others += [test for test, why in differing.items() if why != "words"]
        ratios += [with_ours / alone for alone, with_ours in ours.builds]
    said = said_of(total, len(others), 0)
    if ratios:
        said += f"; a build with our hosts takes {statistics.median(ratios):.2f} of the time, median of {len(ratios)}"
    print(said)
    system.say(said)
    if others:
        raise AssertionError(f"{len(others)} tests differ other than by words")


def said_of(counts, differing, words):
    """Returns what a line says of declared and left functions, and of tests that passed alone and with our hosts."""
    said = "{} declared, {} left; {} tests passed alone, {} with our hosts".format(*counts)
    return said + (f"; {differing} differ" if differing else "") + (f", {words} by words" if words else "")
