//! Growth with the number of functions, parameters of a kind, constraints, texts, levels, statements. Every point is a
//! process of its own.

use std::time::{Duration, Instant};

use codegen::{Routines, ir};
use driver::Optimize;
use serde_json::{Value, json};
use tvm_ffi_codegen_tests::route::BACKENDS;

use crate::children;
use crate::emission::emit;
use crate::ours::{self, JIT_STAGES, durations};
use crate::peers::{Kernels, Peers};
use crate::report::{Plot, Report, Section, Table};
use crate::samples::{Samples, Series};
use crate::setup::Setup;

/// Name of the child.
pub(crate) const NAME: &str = "scale";

/// A dimension along which a library grows.
struct Kind {
    name: &'static str,
    /// Numbers at the points.
    points: &'static [usize],
    /// Makes a library of a size.
    library: fn(usize) -> Source,
    /// True for declarations; false for host IR, which only code generators compile.
    declared: bool,
}

/// Source of a library.
enum Source {
    Text(String),
    Module(ir::Module),
}

const POINTS: &[usize] = &[1, 10, 100, 1000];

const KINDS: [Kind; 10] = [
    kind("functions", &[1, 10, 100, 1000, 10_000], functions),
    kind("tensors", POINTS, |n| params(n, "Tensor([n], float32)")),
    kind("optionals", POINTS, |n| params(n, "Optional[Tensor([_], float32)]")),
    kind("strings", POINTS, |n| params(n, "str")),
    Kind { name: "words passed on, alone", points: POINTS, library: words, declared: false },
    kind("constraints", POINTS, constraints),
    kind("texts of a literal", POINTS, literals),
    kind("levels of nesting", &[1, 4, 16, 48], nested),
    kind("calls by name", &[1, 10, 100, 1000, 10_000], calls_by_name),
    kind("statements", &[1, 10, 100, 1000, 10_000], statements),
];

const fn kind(name: &'static str, points: &'static [usize], library: fn(usize) -> Source) -> Kind {
    Kind { name, points, library, declared: true }
}

/// Makes a function that loads `count` words and calls another function with them: the least that a wrapper with as
/// many parameters needs.
fn words(count: usize) -> Source {
    let mut module = ir::Module::default();
    let callee = ir::SymbolKind::Function(ir::Signature::new(&vec![ir::Type::Ptr; count], None));
    let callee = module.declare("k", ir::Linkage::Import, callee);
    let signature = ir::Signature::new(&[ir::Type::Ptr], None);
    let mut b = ir::Builder::function(&mut module, "f", ir::Linkage::Export, signature);
    let from = b.param(0);
    let words: Vec<_> = (0..count).map(|i| b.load(ir::Type::Ptr, from, 8 * i as i32)).collect();
    b.call(callee, &words);
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
    Source::Module(module)
}

fn list(count: usize, separator: &str, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect::<Vec<_>>().join(separator)
}

fn functions(count: usize) -> Source {
    Source::Text(list(count, "\n", |i| {
        format!(
            "f{i}(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = k(x.data, y.data, n);"
        )
    }))
}

fn params(count: usize, ty: &str) -> Source {
    let (params, args) =
        (list(count, ", ", |i| format!("x{i}: {ty}")), list(count, ", ", |i| format!("x{i}")));
    Source::Text(format!("f({params}) -> None = k({args});"))
}

fn constraints(count: usize) -> Source {
    let all = list(count, ", ", |i| format!("n % {} == 0", i + 1));
    Source::Text(format!("f(x: Tensor([n], float32)) -> None where {all} = k(x.data, n);"))
}

fn literals(count: usize) -> Source {
    let texts = list(count, ", ", |i| format!("\"text {i}\""));
    Source::Text(format!("f(x: Literal[{texts}]) -> None = k(x);"))
}

fn calls_by_name(count: usize) -> Source {
    let calls = list(count, " ", |i| format!("@\"scale.function_{i}\"(x, y);"));
    Source::Text(format!(
        "f(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = {{ {calls} k(x.data, y.data, n); }};"
    ))
}

fn statements(count: usize) -> Source {
    let all = list(count, " ", |i| match i % 4 {
        0 => format!("let v{i} = n + {i};"),
        1 => format!("let t{i} = alloc Tensor([n], float32) on x;"),
        2 => format!("if n > {i} {{ @\"scale.function_{i}\"(x); }}"),
        _ => format!("for i{i} in 0..n {{ @\"scale.function_{i}\"(x, i{i}); }}"),
    });
    Source::Text(format!("f(x: Tensor([n], float32)) -> None = {{ {all} k(x.data, n); }};"))
}

fn nested(depth: usize) -> Source {
    let ty = format!("{}int64{}", "Tuple[".repeat(depth), "]".repeat(depth));
    Source::Text(format!("f(x: {ty}) -> None = k(x);"))
}

/// Returns the ways to compile: our JIT, and objects by backend.
fn routes(kind: &Kind) -> impl Iterator<Item = &'static str> {
    kind.declared.then_some(JIT).into_iter().chain(BACKENDS.iter().copied())
}

/// The route in process.
const JIT: &str = "jit";

/// Time limit of a point.
const LIMIT: Duration = Duration::from_secs(20);

/// Runs this part.
pub(crate) fn run(setup: &Setup, report: &mut Report) {
    let per_item = |title: &str, unit| Table { title: title.to_owned(), unit, ..Table::default() };
    let mut bytes = per_item("Bytes of code and data per item", "bytes");
    bytes.note =
        "Of the JIT what is mapped, in whole pages; of backends the object file.".to_owned();
    let mut memory = per_item("Peak of memory above that of one function", "KiB");
    memory.note = "The growth of the process's peak during the first compilation.".to_owned();
    let mut tables = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        let mut time = per_item(&format!("Time per item: {}", kind.name), "µs");
        time.plot = Plot::Curves;
        // In short mode the first dimension has all routes, and any other its first.
        let few = if number == 0 { usize::MAX } else { 1 };
        for route in routes(kind).take(setup.pick(usize::MAX, few)) {
            // In short mode the second point is enough: it shows that the first works too.
            for &count in setup.pick(kind.points, &kind.points[1..2]) {
                let point = measure(setup, kind.name, count, route);
                let row = format!("{}, {count}", kind.name);
                match point {
                    Ok(point) => add(&point, count, &row, [&mut time, &mut bytes, &mut memory]),
                    Err(why) => {
                        time.absent.push([count.to_string(), format!("{route}: whole"), why]);
                        break;
                    }
                }
            }
        }
        tables.push(time);
    }
    let mut growth = per_item("Time per item beside that of 100", "ratio");
    growth.series = tables.iter().flat_map(grown).collect();
    tables.extend([growth, bytes, memory]);
    let notes = vec![format!(
        "Every point is a process of its own that compiles as often as fits half a second, at most 31 \
         times; one that takes longer than {} s is given up, with all larger ones.",
        LIMIT.as_secs()
    )];
    report.sections.push(Section { title: "Scale".to_owned(), notes, tables });
}

/// Runs a child and parses its output.
fn measure(setup: &Setup, kind: &str, count: usize, route: &str) -> Result<Value, String> {
    let limit = setup.pick(LIMIT, Duration::from_secs(5));
    let ended =
        children::run(&[NAME, kind, &count.to_string(), route, setup.pick("500", "50")], limit);
    if !ended.is_success() {
        eprintln!("bench: {kind}, {count}, {route}: {} {}", ended.reason(), ended.errors);
        return Err(ended.reason());
    }
    serde_json::from_str(&ended.output).map_err(|error| error.to_string())
}

/// Adds a point to the tables: time, bytes, memory.
fn add(point: &Value, count: usize, row: &str, [time, bytes, memory]: [&mut Table; 3]) {
    let route = point["route"].as_str().unwrap_or_default().to_owned();
    let one = |value: f64| Samples(vec![value]);
    let items = count as f64;
    for stage in point["stages"].as_array().into_iter().flatten() {
        let name = stage["name"].as_str().unwrap_or_default();
        let times = stage["times"].as_array().into_iter().flatten().filter_map(Value::as_f64);
        let samples = Samples(times.map(|time| time / items).collect());
        let (row, column) = (count.to_string(), format!("{route}: {name}"));
        time.series.push(Series { row, column, samples });
    }
    let number = |name: &str| point[name].as_f64().unwrap_or(f64::NAN);
    let (column, row) = (route, row.to_owned());
    let samples = one(number("bytes") / items);
    bytes.series.push(Series { row: row.clone(), column: column.clone(), samples });
    memory.series.push(Series { row, column, samples: one(number("peak")) });
}

/// Runs the child: one library, one route.
pub(crate) fn child(setup: &Setup, arguments: &[String]) {
    let [kind, count, route, budget] = arguments else { panic!("{arguments:?}") };
    let budget = Duration::from_millis(budget.parse().expect("a number"));
    let kind = KINDS.iter().find(|known| known.name == kind).expect("a kind");
    let source = (kind.library)(count.parse().expect("a number"));
    let kernels = Peers::built(setup);
    compile(&functions(1), route, &kernels);
    let (before, start) = (peak(), Instant::now());
    let mut stages: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut bytes = 0;
    let mut grown = 0;
    for round in 0..31 {
        let (times, size) = compile(&source, route, &kernels);
        if round == 0 {
            (bytes, grown) = (size, peak().saturating_sub(before));
            stages = times.iter().map(|(name, _)| (*name, Vec::new())).collect();
        }
        stages.iter_mut().zip(times).for_each(|((_, all), (_, time))| all.push(time));
        if start.elapsed() > budget {
            break;
        }
    }
    let stage = |(name, times): (&str, Vec<f64>)| json!({ "name": name, "times": times });
    let stages: Vec<Value> = stages.into_iter().map(stage).collect();
    println!("{}", json!({ "route": route, "stages": stages, "bytes": bytes, "peak": grown }));
}

/// Returns microseconds by stage, and bytes.
fn compile(source: &Source, route: &str, kernels: &Kernels) -> (Vec<(&'static str, f64)>, usize) {
    let start = Instant::now();
    let lowered;
    let module = match source {
        Source::Text(text) if route == JIT => return compile_in_process(text, kernels),
        Source::Text(text) => {
            lowered = ours::lower_for_file(&ours::parse(text), Routines::Embedded);
            &lowered
        }
        Source::Module(module) => module,
    };
    let object = ours::object(module, route, Optimize::O2);
    let [whole, _] = durations([start, Instant::now()]);
    (vec![("emit", emit(module, route)), ("whole", whole)], object.len())
}

fn compile_in_process(text: &str, kernels: &Kernels) -> (Vec<(&'static str, f64)>, usize) {
    let (times, compiled) = ours::jit_stages(text, kernels);
    let named = JIT_STAGES.into_iter().zip(times).filter(|(name, _)| *name != "make a JIT");
    (named.collect(), compiled.mapped_bytes())
}

/// Returns the peak memory of this process, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).expect("the kernel tells the peak")
}

/// Returns the time per item at each point above 100, to that at 100.
fn grown(time: &Table) -> Vec<Series> {
    let kind = time.title.rsplit(": ").next().unwrap_or_default();
    let wholes = time.series.iter().filter(|series| series.column.ends_with(": whole"));
    let ratio = |series: &Series| {
        let above = series.row.parse::<usize>().is_ok_and(|items| items > 100);
        let few = time.cell("100", &series.column).filter(|_| above)?;
        let samples = Samples(vec![series.samples.median() / few.median()]);
        let column = series.column.trim_end_matches(": whole").to_owned();
        Some(Series { row: format!("{kind}, {}", series.row), column, samples })
    };
    wholes.filter_map(ratio).collect()
}
