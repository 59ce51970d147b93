"""Builds the package in the root of its source distribution: setuptools in the folder `python`."""

import os

os.chdir("python")

from setuptools.build_meta import *  # noqa: E402, F403
