"""Reads texts of declarations, a list in JSON, and compares them with what values print that are built from them."""

import json
import sys

from tvm_ffi_codegen.build import parse, same

texts = json.load(sys.stdin.buffer)
for text in texts:
    library = parse(text)
    printed = str(library)
    if printed != text:
        print(f"{text}became\n{printed}")
    if not same(parse(printed), library):
        print(f"another value than before:\n{printed}")
print(len(texts), "texts")
