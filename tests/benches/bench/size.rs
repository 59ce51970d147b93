//! Sizes of functions, read from object files and shared libraries.

use std::path::Path;

use codegen::Routines;
use driver::Optimize;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind};
use tvm_ffi_codegen_tests::route::BACKENDS;

use crate::cases::cases;
use crate::ours;
use crate::peers::{Kind, Peer, Peers};
use crate::report::{Plot, Report, Section, Table};
use crate::samples::{Samples, Series};

/// Sizes of a function in bytes; relocations as a number.
#[derive(Debug, Default)]
struct Sizes {
    hot: Option<u64>,
    rest: Option<u64>,
    other: Option<u64>,
    code: Option<u64>,
    constants: Option<u64>,
    relocations: Option<u64>,
    file: Option<u64>,
}

/// A field of [`Sizes`].
type Field = fn(&Sizes) -> Option<u64>;
/// Title, unit and field of each table.
const TABLES: [(&str, &str, Field); 7] = [
    ("Code up to the call of the kernel", "bytes", |s| s.hot),
    ("Other code of the function", "bytes", |s| s.rest),
    ("Code beside the function", "bytes", |s| s.other),
    ("All code of a library", "bytes", |s| s.code),
    ("Constants of a library", "bytes", |s| s.constants),
    ("Relocations of a library when it is loaded", "relocations", |s| s.relocations),
    ("Whole library as a file", "bytes", |s| s.file),
];

/// Runs this part.
pub(crate) fn run(peers: &Peers, report: &mut Report) {
    let mut found = Vec::new();
    for case in cases() {
        for peer in &peers.all {
            let Some(library) = peer.library(case.name) else { continue };
            let mut sizes = of_library(&library);
            if let Some(object) = object_of(peer, case.name, &case.declaration) {
                of_object(&object, case.name, &mut sizes);
            }
            found.push((case.name, peer.name.as_str(), sizes));
        }
    }
    let table = |&(title, unit, field): &(&str, &'static str, Field)| {
        let series = found.iter().filter_map(|(row, column, sizes)| {
            let samples = Samples(vec![field(sizes)? as f64]);
            Some(Series { row: (*row).to_owned(), column: (*column).to_owned(), samples })
        });
        let plot = if title == TABLES[0].0 { Plot::Marks } else { Plot::None };
        Table { title: title.to_owned(), unit, series: series.collect(), plot, ..Table::default() }
    };
    let mut tables: Vec<Table> = TABLES.iter().map(table).collect();
    tables.push(by_tensors());
    let notes = vec![
        "Ours carry the routines that compose messages once per library: that is the code beside the \
         function; with C it is what is not inlined, with C++ also what templates leave. Libraries hold one \
         function and the kernels, and are not stripped."
            .to_owned(),
    ];
    report.sections.push(Section { title: "Size".to_owned(), notes, tables });
}

/// Measures the growth of code with the number of tensors of one extent.
fn by_tensors() -> Table {
    let title = "Code up to the call of the kernel, by the number of tensors".to_owned();
    let mut table = Table { title, unit: "bytes", ..Table::default() };
    for count in 1..=8 {
        let list =
            |entry: fn(usize) -> String| (0..count).map(entry).collect::<Vec<_>>().join(", ");
        let params = list(|i| format!("x{i}: Tensor([n], float32)"));
        let args = list(|i| format!("x{i}.data"));
        let text = format!("f({params}) -> None = f_kernel({args}, n);");
        let module = ours::lower_for_file(&ours::parse(&text), Routines::Shared);
        for backend in BACKENDS {
            let mut sizes = Sizes::default();
            of_object(&ours::object(&module, backend, Optimize::O2), "f", &mut sizes);
            let samples = Samples(sizes.hot.map(|bytes| bytes as f64).into_iter().collect());
            let (row, column) = (count.to_string(), (*backend).to_owned());
            table.series.push(Series { row, column, samples });
        }
    }
    table
}

/// Returns the object file of a function, if the peer has one.
fn object_of(peer: &Peer, case: &str, declaration: &str) -> Option<Vec<u8>> {
    match peer.kind {
        Kind::Ours(backend) => {
            let module = ours::lower_for_file(&ours::parse(declaration), Routines::Embedded);
            Some(ours::object(&module, backend, Optimize::O2))
        }
        Kind::Compiler => std::fs::read(peer.folder.join(format!("{case}.o"))).ok(),
        Kind::System => None,
    }
}

/// Measures the function's own code, before and after the call of its kernel, and other code.
fn of_object(bytes: &[u8], case: &str, sizes: &mut Sizes) {
    let file = object::File::parse(bytes).expect("an object");
    let (name, kernel) = (format!("__tvm_ffi_{case}"), format!("{case}_kernel"));
    let Some(function) = file.symbol_by_name(&name) else { return };
    let Some(section) = function.section_index().and_then(|i| file.section_by_index(i).ok()) else {
        return;
    };
    let is_kernel = |target: RelocationTarget| {
        let RelocationTarget::Symbol(index) = target else { return false };
        file.symbol_by_index(index).is_ok_and(|symbol| symbol.name() == Ok(&kernel))
    };
    let within = function.address()..function.address() + function.size();
    let mut calls = section.relocations().filter(|(_, r)| is_kernel(r.target()));
    sizes.hot = calls.find(|(at, _)| within.contains(at)).map(|(at, _)| at - function.address());
    let cold_name = format!("{name}.cold");
    let parts = file.symbols().filter(|s| s.name() == Ok(&name) || s.name() == Ok(&cold_name));
    let own: u64 = parts.map(|symbol| symbol.size()).sum();
    sizes.rest = sizes.hot.map(|hot| own - hot);
    let text = file.sections().filter(|section| section.kind() == SectionKind::Text);
    sizes.other = Some(text.map(|section| section.size()).sum::<u64>() - own);
}

/// Measures a library in memory and as a file.
fn of_library(path: &Path) -> Sizes {
    let bytes = std::fs::read(path).expect("it was just made");
    let file = object::File::parse(&*bytes).expect("a shared library");
    let total = |wanted: &dyn Fn(&str) -> bool| {
        let sections = file.sections().filter(|section| section.name().is_ok_and(wanted));
        Some(sections.map(|section| section.size()).sum())
    };
    let starts = |name: &str, with: &[&str]| with.iter().any(|start| name.starts_with(start));
    Sizes {
        code: total(&|name| starts(name, &[".text", ".ltext"])),
        constants: total(&|name| starts(name, &[".rodata", ".lrodata", ".data.rel.ro"])),
        // A relocation takes 24 bytes.
        relocations: total(&|name| name.starts_with(".rela.")).map(|bytes: u64| bytes / 24),
        file: Some(bytes.len() as u64),
        ..Sizes::default()
    }
}
