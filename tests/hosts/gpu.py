"""Launches on a GPU through functions of ours, and prints a table: what works, what fails and why, what is not here.

Usage: gpu.py [--stand-in] FOLDER, where FOLDER has a library `IMAGE.so` of every image, as tests/gpu makes them.
With --stand-in the driver is that of tests/driver, which runs no kernels: what is compared then is what it recorded.
"""

import argparse
import sys

from launches import checks, cost, doors, frameworks, variants
from launches.cuda import Driver, Failed
from launches.place import NotHere, Place


def outcome(place, check):
    """Runs a check; returns whether it failed, and its entry in the table."""
    try:
        with place:
            said = check(place)
        return False, f"works{f': {said}' if said else ''}"
    except NotHere as why:
        return False, f"not here: {why}"
    except Exception as why:
        return True, f"fails: {type(why).__name__}: {why}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    try:
        driver = Driver()
    except Failed as why:
        print(f"nothing is launched: {why}")
        return 0
    if driver.has("fake_cuda_log") != arguments.stand_in:
        sys.exit("with --stand-in the driver is to be the stand-in, without it another")
    place = Place(driver, arguments.folder, arguments.stand_in)
    print(f"{driver.name(0)}, compute capability {place.capability[0]}.{place.capability[1]}")
    rows = checks.CHECKS | frameworks.CHECKS | doors.CHECKS | variants.CHECKS
    rows |= cost.COSTS | frameworks.COSTS | doors.COSTS | variants.COSTS
    width = max(map(len, rows))
    has_failed = False
    for name, check in rows.items():
        failed, said = outcome(place, check)
        has_failed |= failed
        print(f"{name:{width}}  {said}", flush=True)
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
