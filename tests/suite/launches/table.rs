//! Tables of bodies, each with the expected launches or the expected error.

use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda;

use super::session::{Driver, assert_same, error_of, library, sessions, take_launches};

/// Statements of a body, and the launches in short form ([`brief`]) or the error.
pub(super) type Row<'a> = (&'a str, &'a str);

/// Arguments and a row.
pub(super) type Call<'a> = (&'a [Any], &'a str, &'a str);

/// Checks bodies on every route; each becomes a function with these parameters. Both devices have streams of their own.
pub(super) fn hold(params: &str, args: &[Any], rows: &[Row<'_>]) {
    let calls: Vec<Call<'_>> =
        rows.iter().map(|&(body, expected)| (args, body, expected)).collect();
    hold_calls(params, &calls);
}

/// Checks bodies with different arguments.
pub(super) fn hold_calls(params: &str, calls: &[Call<'_>]) {
    let cuda = fake_cuda::exclusive();
    let function = |(index, (_, body, _)): (usize, &Call<'_>)| {
        format!("f{index}({params}) -> None = {{ {body} }};\n")
    };
    let library = library(&calls.iter().enumerate().map(function).collect::<String>());
    let (driver, before) = (Driver(&cuda), cuda.live().memory);
    let streams = [0, 1].map(|device| driver.create_stream(device));
    for session in sessions(&library) {
        (0..).zip(streams).for_each(|(device, stream)| session.set_stream(device, stream));
        for (index, (args, body, expected)) in calls.iter().enumerate() {
            let name = format!("f{index}");
            cuda.reset();
            let ended = session.call(&name, args);
            let mut found = brief(&take_launches(&cuda));
            found += &ended.err().map(|error| format!("{error}\n")).unwrap_or_default();
            let expected = error_of(&library, &name, expected);
            let place = format!("{}: {body}", session.name);
            assert_same(found.trim_end(), &expected, &place);
            assert_eq!((cuda.live().pushed, cuda.live().memory), (0, before), "{place}");
        }
    }
    (0..).zip(streams).for_each(|(device, stream)| driver.destroy_stream(device, stream));
}

/// Shortens launches by the usual values: a stream of its own on cuda:0, no shared memory.
pub(super) fn brief(record: &str) -> String {
    let usual = [
        "cuLaunchKernelEx(lib.",
        " shared=0",
        " stream=stream",
        " attributes=[]",
        " device=0 context=primary0",
    ];
    usual.into_iter().fold(record.to_owned(), |text, part| text.replace(part, ""))
}
