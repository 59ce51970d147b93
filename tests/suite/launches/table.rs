//! Tables of bodies, each with what the stand-in is asked to launch or how the call fails.

use jit::abi::Any;
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};

use super::session::{Driver, assert_same, error_of, library, sessions, take_launches};

/// The statements of a body, and the launches in short, see [`brief`], or the error.
pub(super) type Row = (&'static str, &'static str);

/// Holds every body to its row, on every route; each is that of a function with these parameters. Both devices
/// have streams of their own.
pub(super) fn hold(params: &str, args: &[Any], rows: &[Row]) {
    hold_on(&fake_cuda::exclusive(), params, args, rows);
}

/// The same on a stand-in that is not as it was at first.
pub(super) fn hold_on(cuda: &FakeCuda, params: &str, args: &[Any], rows: &[Row]) {
    let function =
        |(index, (body, _)): (usize, &Row)| format!("f{index}({params}) -> None = {{ {body} }};\n");
    let library = library(&rows.iter().enumerate().map(function).collect::<String>());
    let (driver, before) = (Driver(cuda), cuda.live().memory);
    let streams = [0, 1].map(|device| driver.create_stream(device));
    for session in sessions(&library) {
        (0..).zip(streams).for_each(|(device, stream)| session.set_stream(device, stream));
        for (index, (body, expected)) in rows.iter().enumerate() {
            let name = format!("f{index}");
            cuda.reset();
            let ended = session.call(&name, args);
            let mut found = brief(&take_launches(cuda));
            found += &ended.err().map(|error| format!("{error}\n")).unwrap_or_default();
            let expected = error_of(&library, &name, expected);
            let place = format!("{}: {body}", session.name);
            assert_same(found.trim_end(), &expected, &place);
            assert_eq!((cuda.live().pushed, cuda.live().memory), (0, before), "{place}");
        }
    }
    (0..).zip(streams).for_each(|(device, stream)| driver.destroy_stream(device, stream));
}

/// Launches without what is the same in most of them: a stream of its own on cuda:0, no shared memory.
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
