"""FlashInfer's generated hosts: 808 files of C++ in one wheel, each beside the declaration that a reader makes of it.

The original is compiled by g++ with a stand-in for the CUDA runtime (runtime.cc) on that for the driver, ours is
emitted by each backend. Both get the same arguments, valid ones of every class that the file distinguishes and such
that violate each of its checks in turn; launches, kernels' arguments and encoders' calls must be equal, and both must
refuse the same calls. A host is equal if nothing differs and every check of the original has refused some call, or
cannot. Hosts that are stages of a route have a function of two phases too, which must do and refuse the same in each;
several of them are also compared as a route. No GPU is needed and no kernel runs.

Usage: check.py [--few | --families | --emission | WORD ...], with the environment of table.py: all hosts, one of some
families, one of each family, or those whose path has all words. Prints families and reasons; the last line is `N equal of
808`. With --emission all hosts are emitted, each backend by one process, and nothing is compared.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import compare
import original
import ours
import read
import routes
import system
import translate
import wheels
from calls import Machine
from facts import Host

# Kept from run to run: the wheels, and libraries of originals.
KEPT = Path(os.environ["SYSTEMS_TARGET"]) / "systems" / "cake"
# Families of which the first host is compared by `--few`: parts of their paths.
FEW = (
    "blackwell_bf16_fp4/",
    "cake_batch_deepgemm_fp8/",
    "cake_concat_mla_kv_quant_fp8/",
    "cake_fused_norm_combine/",
    "cake_fused_qk_rope_append/sm_90a/",
    "cake_grouped_fp8_gemm/",
    "cake_kimi_k3_mla/",
    "cake_kimi_k3_situ/",
    "cake_minimax_h3_qkv_quantize_pack/",
    "cake_nvfp4_svdquant_gemm/",
    "cake_rmsnorm_train/",
    "cake_selective_state_update/",
    "cake_mxfp4_situ_moe/",
    "deepgemm_dense_mqa/",
)


@dataclass
class Work:
    """Hosts and what has become of them, by path."""

    hosts: dict[str, Host]
    texts: dict[str, str]
    # Why a host is not compared.
    reasons: dict[str, str]
    originals: dict[str, original.Built]
    verdicts: dict[str, compare.Verdict]


def chosen(paths: Sequence[str], words: Sequence[str]) -> list[str]:
    if "--few" in words:
        return [next(path for path in paths if family in path) for family in FEW]
    if "--families" in words:
        return list({str(Path(path).parent): path for path in reversed(paths)}.values())
    return [path for path in paths if all(word in path for word in words if word != "--emission")]


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def facts(wheel: Path, paths: Sequence[str]) -> Work:
    """Reads and translates hosts."""
    work = Work({}, {}, {}, {}, {})
    for path in paths:
        try:
            work.hosts[path] = read.read(wheel, path)
            work.texts[path] = translate.translate(work.hosts[path])
        except (read.Unreadable, translate.Untranslatable) as why:
            work.reasons[path] = str(why)
    return work


def compile_originals(work: Work, files: wheels.Unpacked, headers: original.Headers) -> None:
    sources = {files.hosts / path: path for path in work.texts}
    for source, built in original.compile_all(sources, headers, KEPT / "originals", tell).items():
        if isinstance(built, original.Failed):
            work.reasons[sources[source]] = f"g++: {built}"
        else:
            work.originals[sources[source]] = built


def build_stand_ins(files: wheels.Unpacked) -> compare.Files:
    """Builds the stand-ins for the driver and, linked with it, for the runtime of CUDA."""
    driver = system.build_stand_in()
    cudart = system.MADE / "cake_runtime.so"
    linked = ["-Wl,--no-as-needed", "-L", driver, "-l:libcuda.so.1", "-Wl,-rpath," + str(driver), "-ldl"]
    options = ["-std=c++17", "-O2", "-fPIC", "-shared", "-I", files.includes[0]]
    system.run("g++", *options, system.HERE / "runtime.cc", "-o", cudart, *linked)
    runtime = Path(system.config("--libdir")) / "libtvm_ffi.so"
    return compare.Files(driver / "libcuda.so.1", cudart, runtime)


def codes(hosts: Mapping[str, Host], libraries: Mapping[str, Path], files: compare.Files) -> dict[str, str]:
    """Returns the code of each host's kernels. Each library is loaded in a process of its own: hosts have structs of
    one name that differ, of which one process would have one size."""
    machine: Machine = files.open()
    return {
        path: compare.apart(lambda: original.Original(library, machine, original.called(hosts[path])).code)
        for path, library in libraries.items()
    }


def emit(work: Work, files: compare.Files) -> tuple[dict[str, dict[str, Path]], dict[str, float]]:
    """Emits hosts with each backend; returns the libraries by backend and path, and the seconds by backend."""
    originals = {path: built.library for path, built in work.originals.items()}
    kernels = compare.apart(lambda: codes(work.hosts, originals, files))
    made: dict[str, dict[str, Path]] = {}
    seconds: dict[str, float] = {}
    for backend in system.BACKENDS:
        folder = system.MADE / backend
        folder.mkdir()
        libraries = {path: folder / f"{number}.so" for number, path in enumerate(work.originals)}
        jobs = [ours.Job(work.texts[path], kernels[path], str(library)) for path, library in libraries.items()]
        emitted = ours.emit(jobs, backend, system.MADE, len(os.sched_getaffinity(0)))
        for path, library in libraries.items():
            if str(library) in emitted.failed:
                work.reasons[path] = f"{backend}: {emitted.failed[str(library)]}"
        made[backend], seconds[backend] = libraries, emitted.seconds
    return made, seconds


def measure(work: Work) -> int:
    """Emits hosts with each backend, with images that have no kernels; returns how many fail."""
    failed = 0
    for backend in system.BACKENDS:
        folder = system.MADE / backend
        folder.mkdir()
        jobs = [
            ours.Job(text, original.image(()), str(folder / f"{number}.so")) for number, text in enumerate(work.texts.values())
        ]
        emitted, *others = (ours.emit(jobs, backend, system.MADE, threads) for threads in (1, len(os.sched_getaffinity(0))))
        failed += len(emitted.failed)
        said = f"{backend}: {len(jobs) - len(emitted.failed)} hosts in {emitted.seconds:.2f} s"
        said += "".join(f", with a thread for each processor in {other.seconds:.2f} s" for other in others)
        print(said)
        system.say(said)
        for why in emitted.failed.values():
            print(why)
    return failed


Answer = tuple[str, "compare.Verdict | str"]


def compare_all(work: Work, made: Mapping[str, Mapping[str, Path]], files: compare.Files) -> None:
    """Compares hosts, as many at a time as there are cores."""
    paths = [path for path in work.originals if path not in work.reasons]
    count = len(os.sched_getaffinity(0))
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.SimpleQueue[Answer] = context.SimpleQueue()

    def one(path: str) -> compare.Verdict | str:
        libraries = {backend: of[path] for backend, of in made.items()}
        library = work.originals[path].library
        try:
            return compare.apart(lambda: compare.compare(work.hosts[path], library, libraries, files))
        except RuntimeError as why:
            return str(why)

    def worker(number: int) -> None:
        for path in paths[number::count]:
            answers.put((path, one(path)))

    workers = [context.Process(target=worker, args=(number,)) for number in range(count)]
    for process in workers:
        process.start()
    for done in range(len(paths)):
        path, answer = answers.get()
        if isinstance(answer, str):
            work.reasons[path] = f"the comparison ends: {answer}"
        else:
            work.verdicts[path] = answer
            if not answer.equal:
                why = answer.differences or [f"never refused: {check}" for check in answer.unfired]
                tell(f"{path}: {why[0] if why else 'not equal'}")
        if done % 50 == 49:
            tell(f"compared: {done + 1} of {len(paths)}")
    for process in workers:
        process.join()


def compare_route(
    work: Work, made: Mapping[str, Mapping[str, Path]], headers: original.Headers, files: compare.Files
) -> list[str]:
    """Compares calls of a route of the hosts that are stages, as many as it can have; returns how they differ."""
    stages = [
        routes.Stage(function, work.originals[path].library, {backend: of[path] for backend, of in made.items()})
        for path in work.verdicts
        for function in work.hosts[path].functions
        if function.has_phases
    ][: routes.MOST]
    if not stages:
        return []
    submitter = original.compile_one(headers.wheel / routes.SUBMITTER, headers, KEPT / "originals").library
    count, differences = compare.apart(lambda: routes.compare(stages, submitter, files))
    print(f"a route of {len(stages)} stages: {count} calls, {len(differences)} differ")
    return differences


def report(work: Work, paths: Sequence[str], all_: int, seconds: Mapping[str, float]) -> int:
    """Prints what was found and returns the number of hosts that are equal."""
    equal = {path for path, verdict in work.verdicts.items() if verdict.equal}
    families: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        families[str(Path(path).parent)].append(path)
    print("family | files | translated | equal\n--- | --- | --- | ---")
    for family, members in families.items():
        translated, same = (sum(path in of for path in members) for of in (work.texts, equal))
        print(f"{family} | {len(members)} | {translated} | {same}")
    for reason, count in Counter(work.reasons.values()).most_common():
        print(f"{count} not compared: {reason}")
    for path, verdict in work.verdicts.items():
        for difference in verdict.differences:
            print(f"{path}: differs: {difference}")
        for check in verdict.unfired:
            print(f"{path}: never refused: {check}")
    totals(work, seconds)
    print(f"{len(equal)} equal of {all_}")
    return len(equal)


def totals(work: Work, seconds: Mapping[str, float]) -> None:
    verdicts = list(work.verdicts.values())

    def total(name: str) -> int:
        return sum(value if isinstance(value := getattr(verdict, name), int) else len(value) for verdict in verdicts)

    print(f"{total('valid')} calls that both accept, {total('refused')} that both refuse", end="; ")
    print(f"{total('checks')} checks, of which {total('fired')} have refused and {total('implied')} cannot", end="; ")
    print(f"{total('other_kinds')} dtypes refused by another kind of error")
    spent = [built.seconds for built in work.originals.values()]
    if spent:
        print(f"g++: {sum(spent) / len(spent):.2f} s a file, {sum(spent):.0f} s for {len(spent)}", end="; ")
    print(", ".join(f"{backend}: {took:.2f} s" for backend, took in seconds.items()))


def main() -> None:
    words = sys.argv[1:]
    start = time.perf_counter()
    try:
        files = wheels.unpack(KEPT)
    except wheels.Missing as why:
        system.not_here(str(why))
    everything = read.hosts(files.hosts)
    paths = chosen(everything, words)
    work = facts(files.hosts, paths)
    tell(f"read: {len(work.hosts)} of {len(paths)}, translated: {len(work.texts)}, {time.perf_counter() - start:.0f} s")
    if "--emission" in words:
        sys.exit(1 if measure(work) > 0 or len(work.texts) < len(paths) else 0)
    includes = Path(system.config("--includedir"))
    headers = original.Headers(files.hosts, (*files.includes, includes), files.versions + includes.parent.parent.name)
    compile_originals(work, files, headers)
    stand_ins = build_stand_ins(files)
    made, seconds = emit(work, stand_ins)
    compare_all(work, made, stand_ins)
    differences = compare_route(work, made, headers, stand_ins)
    for difference in differences:
        print(f"a route differs: {difference}")
    equal = report(work, paths, len(everything), seconds)
    system.say(f"{len(work.texts)} of {len(paths)} translated, {equal} equal of {len(everything)}")
    if differences or equal < len(work.texts):
        sys.exit(1)


if __name__ == "__main__":
    main()
