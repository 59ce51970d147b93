"""Runs the tests of this folder whose names hold one of the arguments: python3 run.py [NAME...]; pytest runs them too."""

import importlib
import sys
import traceback
from pathlib import Path

here = Path(__file__).parent
sys.path.insert(0, str(here))
wanted = sys.argv[1:] or [""]
failed = 0
for file in sorted(here.glob("test_*.py")):
    module = importlib.import_module(file.stem)
    tests = [(name, test) for name, test in vars(module).items() if name.startswith("test_")]
    for name, test in tests:
        name = f"{file.stem}.{name}"
        if not any(part in name for part in wanted):
            continue
        try:
            test()
            print(f"{name}: ok")
        except Exception:
            failed += 1
            print(f"{name}: FAILED")
            traceback.print_exc(file=sys.stdout)
print(f"{failed} failed")
sys.exit(failed != 0)
