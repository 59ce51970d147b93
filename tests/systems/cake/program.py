"""What a host and the headers that it includes declare, by name."""

from __future__ import annotations

from dataclasses import dataclass, field

import cpp


@dataclass
class Program:
    """A host and the headers that it includes, as one."""

    functions: dict[str, cpp.Function] = field(default_factory=dict)
    classes: dict[str, cpp.Class] = field(default_factory=dict)
    variables: dict[str, cpp.Declare] = field(default_factory=dict)
    kernels: dict[str, cpp.Function] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)

    def add(self, file: cpp.File) -> None:
        self.functions |= file.functions
        self.classes |= file.classes
        self.variables |= file.variables
        self.kernels |= file.kernels
        self.paths |= {id(function): file.path for function in file.functions.values()}
