//! The benchmark: time and instructions of calls, and time, scale, size and stack of our functions beside those of
//! others, in one run.
//!
//! `tests/bench [part …] [--short]` installs its needs and runs it; `target/bench/report.md` is for people,
//! `target/bench/results.json` for programs. Parts: `calls time scale size stack python threads`.

mod answers;
mod calls;
mod cases;
mod children;
mod counts;
mod emission;
mod functions;
mod ours;
mod peers;
mod plot;
mod processes;
mod python;
mod report;
mod rust;
mod samples;
mod scale;
mod setup;
mod size;
mod stack;
mod threads;
mod time;

use std::time::Instant;

use abi_spec::{Device, DeviceType};
use answers::Answers;
use peers::Peers;
use report::Report;
use setup::Setup;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};
use tvm_ffi_codegen_tests::{fake_cuda, fake_hip};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let setup = Setup::new();
    let ffi = Ffi::new(ffi::installed());
    functions::register(&ffi);
    // Launches are timed on a driver that does nothing.
    let driver = fake_cuda::exclusive();
    driver.quiet(true);
    let hip = fake_hip::exclusive();
    hip.quiet(true);
    ffi.set_streams();
    let rocm = Device { ty: DeviceType::ROCM, id: 0 };
    ffi.set_stream(rocm, hip.create_stream().expose_provenance());
    if let [flag, name, rest @ ..] = arguments.as_slice()
        && flag == children::CHILD
    {
        match name.as_str() {
            answers::NAME => answers::child(&setup, rest),
            counts::NAME => counts::child(&setup, rest),
            scale::NAME => scale::child(&setup, rest),
            name => panic!("no child {name}"),
        }
        return;
    }
    let start = Instant::now();
    let mut report = Report { machine: setup.machine(), ..Report::default() };
    let mut peers = said("peers", || Peers::new(&setup));
    measure(&setup, &mut peers, &mut report);
    report.left_out.append(&mut peers.left_out);
    let took = format!("{:.0} s after the build", start.elapsed().as_secs_f64());
    report.machine.push(["took".to_owned(), took]);
    report.write(&setup.folder);
    println!("{}", setup.folder.join("report.md").display());
}

/// Runs the wanted parts.
fn measure(setup: &Setup, peers: &mut Peers, report: &mut Report) {
    let calling = ["calls", "stack", "python"].iter().any(|part| setup.wants(part));
    if calling {
        let answers = said("answers", || Answers::new(peers));
        report.sections.push(answers.section(peers));
        let all = calls::load_all(peers);
        if setup.wants("calls") {
            said("calls", || calls::run(setup, peers, &all, &answers, report));
        }
        if setup.wants("stack") {
            said("stack", || stack::run(&all, &answers, report));
        }
        if setup.wants("python") {
            said("python", || python::run(setup, peers, &answers, report));
        }
    }
    if setup.wants("time") {
        said("time", || time::run(setup, peers, report));
    }
    if setup.wants("size") {
        said("size", || size::run(peers, report));
    }
    if setup.wants("threads") {
        said("threads", || threads::run(setup, peers, report));
    }
    if setup.wants("scale") {
        said("scale", || scale::run(setup, report));
    }
}

/// Runs something and prints its duration.
fn said<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = run();
    eprintln!("bench: {what}: {:.1} s", start.elapsed().as_secs_f64());
    value
}
