//! The other routes' calls in the machine for host IR, which must find no violation.

mod planted;

use codegen::Library;
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::cases::{self, Case};
use tvm_ffi_codegen_tests::every::{declarations, values};
use tvm_ffi_codegen_tests::fake_cuda::CUBIN;
use tvm_ffi_codegen_tests::gate::Part;
use tvm_ffi_codegen_tests::machine::{InMachine, Linked};
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::{Call, LACKING};
use tvm_ffi_codegen_tests::volume::{self, Plan, Through};

use crate::table::check;

#[test]
fn every_row_of_the_table() {
    let table = cases::table();
    for linked in [Linked::Inside, Linked::Beside] {
        check(&InMachine::new(&cases::library(&table), linked), &table, &[]);
    }
}

/// The table, with every call of the runtime failing in turn.
#[test]
fn every_row_under_faults() {
    let table: Vec<Case> = cases::table();
    let library = cases::library(&table);
    let machine = InMachine::new(&library, Linked::Beside);
    let mut faults = 0;
    let mut wrong = Vec::new();
    for (case, row) in table.iter().flat_map(|case| case.rows.iter().map(move |row| (case, row))) {
        let function = &case.function.signature.name;
        let call = Call { function, arguments: &row.arguments, count: row.count };
        let place = || format!("{}: {function}", row.place);
        faults += volume::faults(&machine, &call, &mut |report| {
            wrong.push(format!("{}: {report}", place()));
        });
    }
    assert!(wrong.is_empty(), "{} of {faults}\n{}", wrong.len(), wrong.join("\n"));
    assert!(faults > 400, "only {faults} faults");
}

/// Every type of parameter with values of every type, each call alone and under every fault.
#[test]
fn every_value_for_every_type() {
    let (library, values) = (declarations(), values());
    let machine = InMachine::new(&library, Linked::Beside);
    let (mut faults, mut wrong) = (0, Vec::new());
    for function in &library.functions {
        for value in &values {
            let (function, arguments) = (&function.signature.name, std::slice::from_ref(value));
            let call = Call { function, arguments, count: None };
            faults += volume::faults(&machine, &call, &mut |report| {
                wrong.push(format!("{function}({value}): {report}"));
            });
        }
    }
    assert!(wrong.is_empty(), "{} of {faults}\n{}", wrong.len(), wrong.join("\n"));
    assert!(faults > 2000, "only {faults} faults");
}

/// Launches with scratch memory, tensor maps of boxes and columns, with and without a name, an attribute, parameters of
/// every width, and a launch in a loop.
const LAUNCHES: &str = "image code; f(x: Tensor([n, 64], float32, device=cuda)) -> None = {
    launch code.\"hidden\"(x.data, int32(n), scratch(n, 16), scratch(64, 64)) grid(n) block(1) smem(n) cluster(n);
    let part = tensormap(x, dims=[n, 2, 32], strides=[64, 32, 1], offset=128, box=[1, 1, 32]);
    for i in 0..2 {
        launch code.\"tma\"(tensormap(x, dims=[n + i / 2, 64], strides=[64, 1], box=[1, 64]), x.data) grid(1) block(1);
        launch code.\"tma\"(part, x.data) grid(1) block(1);
        launch code.\"tma\"(tensormap(x, dims=[n, 2, 32], strides=[64, 32, 1], im2col(lower=[-i], upper=[0], channels=16,
            pixels=n)), x.data) grid(1) block(1);
    }
};
g(x: Tensor([n], float32, device=cuda), a: float32) -> None = {
    for i in 0..n {
        launch code.\"axpy_kernel\"(x.data, x.data, int32(i), a) grid(ceildiv(n, 4), i) block(32, 2) smem(65536) pdl;
        launch code.\"widths\"(int8(i), int16(i), int32(i), i, a, 0.5, struct(int32(1), int32(2), int32(3)),
            struct(int8(1), 2.0, int32(3))) grid(1) block(1) cooperative;
    }
};
h(x: Tensor([n], float32, device=any)) -> None where x.device.multiprocessors > 8 = {
    let m = alloc Tensor([64], uint8, device=cuda, align=8) on x;
    upload m.data (x.data, n, struct(int8(1), 2.0), x.device.attribute(75));
    fill m.data, n - 4, n;
    copy m.data, x.data, n;
    wait stream(x), stream(m);
};
p(x: Tensor([n, 64], float32, device=cuda), y: Optional[Tensor([n], float32, device=cuda)], s: str, k: int8) -> None = {
    let m = tensormap(x, box=[1, 64]);
    let t = alloc Tensor([n], uint8, device=cuda) on x;
    let submit = function(i: int64) -> None {
        launch code.\"tma\"(m, t.data) grid(n) block(1) on x;
        if y.is_some { fill t.data, i, n on x; }
        wait stream(x), stream(t);
        if i > 2 { raise ValueError s, k; }
    };
    for i in 0..4 { @(submit)(i); }
};";

/// Device variables, and an image that calls a function once it is loaded, in launches, closures and arguments.
const GLOBALS: &str = "image code on load @\"tests.loaded\"; f(x: Tensor([n], float32, device=cuda)) -> ptr = {
    copy code.global(\"factors\") + 4, x.data, code.global(\"factors\").size - 4;
    for i in 0..2 { launch code.\"state_kernel\"(code.global(\"state\")) grid(n) block(1); }
    let p = code.global(\"state\");
    return p + code.global(\"factors\").size;
};
g(x: Tensor([n], float32, device=any)) -> None = {
    let submit = function(i: int64) -> None { launch code.\"state_kernel\"(code.global(\"state\")) grid(n) block(i) on x; };
    for i in 1..4 { @(submit)(i); }
};
h(x: Tensor([n], float32, device=cuda)) -> int64 = { return code.global(\"state\").size; };";

/// Kernels and the bytes of their parameters.
const KERNELS: &[(&str, &[u64])] = &[
    ("hidden", &[8, 4, 8, 8]),
    ("tma", &[128, 8]),
    ("axpy_kernel", &[8, 8, 4, 4]),
    ("widths", &[1, 2, 4, 8, 4, 8, 12, 24]),
    ("state_kernel", &[8]),
];

/// Calls on the default stream and on another one, of machines with a driver, with every function of the runtime and of
/// the driver failing in turn.
fn with_faults(text: &str, calls: &[(&str, &str)], least: u64) {
    let mut library: Library = text.parse().expect("it is a library");
    library.images[0].bytes = Some(CUBIN.to_vec());
    for linked in [Linked::Inside, Linked::Beside] {
        let mut machine = InMachine::new(&library, linked);
        machine.driver =
            Some(KERNELS.iter().map(|(name, sizes)| (*name, sizes.to_vec())).collect());
        for device in [0, 2] {
            for (function, arguments) in calls {
                let arguments = arguments.replace("DEVICE", &format!("device=cuda:{device}"));
                let (arguments, _) = parse_list(&arguments).expect("they are arguments");
                let call = Call { function, arguments: &arguments, count: None };
                let mut wrong = Vec::new();
                let faults = volume::faults(&machine, &call, &mut |report| wrong.push(report));
                assert!(wrong.is_empty(), "{function} {device}:\n{}", wrong.join("\n"));
                assert!(faults > least, "only {faults} faults of {function} on {device}");
            }
        }
    }
}

#[test]
fn globals_under_faults() {
    let calls = [
        ("f", "(float32[16]{DEVICE})"),
        ("g", "(float32[16]{DEVICE, object})"),
        ("h", "(float32[16]{DEVICE})"),
    ];
    with_faults(GLOBALS, &calls, 15);
}

/// Launches on a device whose stream is the default one and on one with a stream, with every function of the runtime
/// and of the driver failing in turn.
#[test]
fn launches_under_faults() {
    let calls = [
        ("f", "(float32[16, 64]{DEVICE})"),
        ("f", "(float32[0, 64]{DEVICE})"),
        ("g", "(float32[3]{DEVICE}, 2.5)"),
        ("g", "(float32[40]{DEVICE}, 2.5)"),
        ("h", "(float32[40]{DEVICE})"),
        ("h", "(float32[4]{DEVICE})"),
        ("h", "(float32[300]{DEVICE})"),
        ("p", "(float32[16, 64]{DEVICE, object}, none, \"a text of the heap\", 3)"),
        ("p", "(float32[16, 64]{DEVICE, object}, float32[16]{DEVICE, object}, \"\", 3)"),
    ];
    with_faults(LAUNCHES, &calls, 15);
}

/// Random declarations and arguments; `tests/volume` makes any number of them.
#[test]
fn random_calls() {
    let report = volume::run(&Plan {
        seed: 0,
        calls: if Part::Random.runs() { 100_000 } else { 30_000 },
        until: None,
        each: 24,
        threads: 2,
        through: Through::Machine,
    });
    assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n\n"));
    assert!(report.accepted * 6 > report.calls && report.accepted * 2 < report.calls, "{report}");
}

/// The tests above would pass on a machine that checks nothing.
#[test]
fn a_finding_breaks_a_call() {
    let declaration = "f(x: Tensor([n], float32)) -> None = add_one(x.data, x.data, n + 100000);";
    let library = declaration.parse().expect("it is a declaration");
    let machine = InMachine::new(&library, Linked::Beside);
    let (arguments, _) = parse_list("(float32[4])").unwrap();
    let call = Call { function: "f", arguments: &arguments, count: None };
    let outcome = machine.run_faulty(&call, None).outcome;
    assert_ne!(outcome, Err(LACKING));
    let End::Broken(reason) = outcome.unwrap().end else { panic!("nothing is found") };
    assert!(reason.contains("behind `data of a tensor`"), "{reason}");
    assert!(reason.contains("@__tvm_ffi_f"), "{reason}");
}
