"""A plug-in of pytest that runs tests with our hosts, or by a compiler alone, and writes what comes of each, a line of JSON
each.

`HOSTS_OF` is the compiler, `tvm` or `tilelang`. `HOSTS` is `stock`, `ours`, or `times`: then every module of TVM is built by
TVM alone and with our hosts, one after the other, both are timed, and tests go on with ours. `HOSTS_SAID` is the file to
write.
"""

import importlib
import json
import os
import time

HOSTS = os.environ["HOSTS"]
PLUGIN = importlib.import_module("tvm_ffi_codegen." + os.environ["HOSTS_OF"]).Plugin()
# Opened once: a test may change the folder or the environment.
SAID = open(os.environ["HOSTS_SAID"], "a", buffering=1)


def say(**line):
    print(json.dumps(line), file=SAID)


def timed(build, *given, **named):
    start = time.perf_counter()
    made = build(*given, **named)
    return made, time.perf_counter() - start


def build_twice(build):
    """Returns a builder that builds by TVM alone and with our hosts, and says how long both took, in seconds."""

    def both(*given, **named):
        _, stock = timed(build, *given, **named)
        with PLUGIN:
            made, ours = timed(build, *given, **named)
        say(stock=stock, ours=ours)
        return made

    return both


def pytest_sessionstart(session):
    if HOSTS == "ours":
        PLUGIN.__enter__()
    elif HOSTS == "times":
        import tvm

        tvm.tirx.build = build_twice(tvm.tirx.build)


def pytest_runtest_logstart(nodeid, location):
    say(starts=nodeid)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        say(test=report.nodeid, outcome=report.outcome, why=why(report) if report.failed else "")


def why(report):
    """Returns why a test failed: `words` where another error of the class was expected, or the last line."""
    text = str(report.longrepr)
    if "Regex pattern did not match" in text:
        return "words"
    crash = getattr(report.longrepr, "reprcrash", None)
    return (crash.message if crash else text).strip().splitlines()[0][:200]


def pytest_sessionfinish(session):
    say(declared=len(PLUGIN.declared), left=[list(one) for one in PLUGIN.left])
