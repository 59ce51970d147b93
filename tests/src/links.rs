//! Random objects of C and C++ compilers, linked by the linker of this library and by that of the C compiler: the
//! libraries must do the same, or the inputs are refused in words.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use driver::link::{Input, Linker};
use driver::{Form, Request};
use tempfile::TempDir;

use crate::generate::{self, Choices, Place, Source};
use crate::hosts::host;
use crate::volume::{Report, noise};

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed; another one makes other programs.
    pub seed: u64,
    /// Number of programs.
    pub programs: u64,
}

/// Compiler of some of the sources, if it is there.
const OTHER: &str = "clang-22";

/// Bytes of choices per program.
const BYTES: u64 = 400;

/// Links random programs until there are enough; a call is a library that is loaded and used. Of programs that go wrong
/// alike the shortest is told.
///
/// # Panics
/// If there is no C compiler, or a source does not compile.
pub fn run(plan: &Plan) -> Report {
    let (mut report, mut wrong) = (Report::default(), BTreeMap::new());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("links");
    let mut cc = Command::new("cc");
    cc.arg("-O1").arg(host("links.c")).arg("-o").arg(&program).args(["-ldl", "-lpthread"]);
    assert!(cc.status().expect("a C compiler").success(), "cc fails on links.c");
    for index in 0..plan.programs {
        let bytes = noise(plan.seed, index, BYTES);
        let outcome = Outcome::of(&bytes, &program);
        report.declarations += 1;
        report.calls += u64::from(outcome.expected.is_ok()) + u64::from(outcome.found.is_ok());
        report.accepted += u64::from(outcome.expected.is_ok());
        if outcome.is_wrong() {
            let text = Objects::compile(generate::objects(&mut Choices::new(&bytes))).print();
            let Outcome { expected, found } = &outcome;
            let text =
                format!("program {index}\n{text}  expected {expected:?}\n  but got  {found:?}");
            let shortest = wrong.entry(outcome.class()).or_insert_with(|| text.clone());
            if text.len() < shortest.len() {
                *shortest = text;
            }
        }
    }
    report.wrong = wrong.into_values().collect();
    report
}

/// What the libraries of a program do, or the words in which a linker refuses its objects.
#[derive(Debug)]
struct Outcome {
    /// By the linker of the C compiler.
    expected: Result<String, String>,
    /// By the linker of this library.
    found: Result<String, String>,
}

impl Outcome {
    fn of(bytes: &[u8], program: &Path) -> Outcome {
        let objects = Objects::compile(generate::objects(&mut Choices::new(bytes)));
        let [expected, found] = [Linker::Cc("cc".into()), Linker::Wild].map(|linker| {
            let library = objects.folder.path().join("f.so");
            fs::write(&library, objects.link(&linker)?).expect("a writable folder");
            Ok(use_library(program, &library))
        });
        Outcome { expected, found }
    }

    /// Returns true if the libraries differ, or only one of the linkers refuses, and not for a limit that it names.
    fn is_wrong(&self) -> bool {
        match (&self.expected, &self.found) {
            (Err(_), Err(_)) => false,
            (Ok(expected), Ok(found)) => expected != found,
            (Ok(_), Err(words)) => !words.contains("take linker cc"),
            // GNU ld has no functions that the loader chooses in some memory models.
            (Err(words), Ok(_)) => !words.contains("isn't supported"),
        }
    }

    /// Returns what programs that go wrong alike have in common.
    fn class(&self) -> (bool, bool, String) {
        let words = match &self.found {
            Ok(text) if text.contains("signal") => "signal".to_owned(),
            Ok(text) if text.contains("not loaded") => "not loaded".to_owned(),
            Ok(_) => String::new(),
            Err(words) => words.chars().filter(|c| c.is_ascii_uppercase()).collect(),
        };
        (self.expected.is_ok(), self.found.is_ok(), words)
    }
}

/// Loads and uses a library in a process of its own; returns what it prints, or how it ends.
fn use_library(program: &Path, library: &Path) -> String {
    let output = Command::new(program).arg(library).stdin(Stdio::null()).output();
    let output = output.expect("a program of the tests");
    let library = library.display().to_string();
    let text = String::from_utf8_lossy(&output.stdout).replace(&library, "f.so");
    if output.status.success() { text } else { format!("{text}{}", output.status) }
}

/// The sources of a program and their objects.
struct Objects {
    sources: Vec<Source>,
    folder: TempDir,
}

impl Objects {
    fn compile(sources: Vec<Source>) -> Objects {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let compile = |(index, source): (usize, &Source)| {
            let text = folder.path().join(format!("{index}.c"));
            fs::write(&text, &source.text).expect("a writable folder");
            let compile = |compiler: &str| {
                let mut command = Command::new(compiler);
                command.args(&source.options).arg("-c").arg(&text).arg("-o");
                command.arg(folder.path().join(format!("{index}.o"))).output()
            };
            // Sources that clang refuses, such as those with extensions of GNU, go to the other compiler.
            if source.other && compile(OTHER).is_ok_and(|output| output.status.success()) {
                return;
            }
            let output = compile("cc").expect("a C compiler");
            let reason = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{:?}\n{}\n{reason}", source.options, source.text);
        };
        sources.iter().enumerate().for_each(compile);
        Objects { sources, folder }
    }

    /// Returns the paths of the objects of one place.
    fn paths(&self, place: Place) -> Vec<PathBuf> {
        let all = self.sources.iter().enumerate();
        let those = all.filter(|(_, source)| source.place == place);
        those.map(|(index, _)| self.folder.path().join(format!("{index}.o"))).collect()
    }

    /// Links the objects to a library; the words of the error if they are refused.
    fn link(&self, linker: &Linker) -> Result<Vec<u8>, String> {
        let read = |path: &PathBuf| Input::read(path).map_err(|error| error.to_string());
        let mut kernels: Vec<Input> =
            self.paths(Place::Alone).iter().map(read).collect::<Result<_, _>>()?;
        let merged: Vec<Input> =
            self.paths(Place::Merged).iter().map(read).collect::<Result<_, _>>()?;
        let request = |kernels: Vec<Input>, form: Form| {
            let linker = Some(linker.clone());
            let runtime_dependency = form != Form::Shared;
            Request { kernels, linker, runtime_dependency, ..Request::new(form) }
        };
        let link = |request: Request| request.link().map_err(|error| error.to_string());
        if !merged.is_empty() {
            let bytes = link(request(merged, Form::Object))?;
            kernels.push(Input::new("merged.o", bytes).map_err(|error| error.to_string())?);
        }
        for archive in 0..2 {
            let members = self.paths(Place::Archive(archive));
            if !members.is_empty() {
                let path = self.folder.path().join(format!("{archive}.a"));
                let _ = fs::remove_file(&path);
                let ar = Command::new("ar").arg("rcs").arg(&path).args(members).status();
                assert!(ar.expect("ar").success(), "ar fails");
                kernels.push(read(&path)?);
            }
        }
        kernels.push(read(&library_of_cxx())?);
        link(request(kernels, Form::Shared))
    }

    fn print(&self) -> String {
        let mut text = String::new();
        for (index, source) in self.sources.iter().enumerate() {
            let Source { text: own, options, place, other } = source;
            let compiler = if *other { OTHER } else { "cc" };
            writeln!(text, "{index}.c {place:?} {compiler} {options:?}\n{own}").expect("text");
        }
        text
    }
}

/// Returns the path of the C++ library of the compiler.
fn library_of_cxx() -> PathBuf {
    let output = Command::new("cc").arg("-print-file-name=libstdc++.so.6").output();
    let path = output.expect("a C compiler").stdout;
    String::from_utf8(path).expect("a path").trim().into()
}
