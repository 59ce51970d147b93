//! The cache of outputs on disk: what is found again, what is made anew, and several processes at once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use codegen::{Library, Routines};
use tvm_ffi_codegen_driver::{
    BackendName, Cache, CheckGroup, Error, File, Form, Headers, Request, inspect,
};

use crate::support::{compile, folder};

const TEXT: &str = "f() -> int64 = k();";

fn parse(text: &str) -> Library {
    text.parse().unwrap()
}

/// Returns the request for a shared library of a kernel that is given as C.
fn shared(source: &str) -> Request {
    let folder = folder();
    let bytes = fs::read(compile(folder.path(), "k", source, &[])).unwrap();
    let link = vec![File::Bytes { name: "k.o".to_owned(), bytes }];
    Request { link, runtime_dependency: false, ..Request::new(Form::Shared) }
}

/// Returns the files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn equal_requests_are_made_once() {
    let folder = folder();
    let folder = folder.path().join("made").join("here");
    let cache = Cache::new(&folder);
    let request = shared("long k(void) { return 42; }");
    let first = cache.emit(&request, &parse(TEXT)).unwrap();
    assert_eq!(first, request.emit(&parse(TEXT)).unwrap());
    let [file] = &files(&folder)[..] else { panic!("one file") };
    assert_eq!(inspect(&fs::read(file).unwrap()).unwrap().functions[0].name, "f");
    // The cache returns the file that is there; another text of the same declarations has the same key.
    let other = cache.emit(&shared("long k(void) { return 43; }"), &parse(TEXT)).unwrap();
    let [second] = &files(&folder).into_iter().filter(|path| path != file).collect::<Vec<_>>()[..]
    else {
        panic!("another file")
    };
    fs::rename(second, file).unwrap();
    assert_eq!(cache.emit(&request, &parse("f( ) ->int64 = k( ) ;")).unwrap(), other);
}

/// Damaged files are made anew, whatever is wrong with them; so are missing ones.
#[test]
fn damaged_files_are_made_anew() {
    let folder = folder();
    let cache = Cache::new(folder.path());
    let request = shared("long k(void) { return 42; }");
    let bytes = cache.emit(&request, &parse(TEXT)).unwrap();
    let [file] = &files(folder.path())[..] else { panic!("one file") };
    let good = fs::read(file).unwrap();
    let last = good.len() - 1;
    let flipped = |at: usize| {
        let mut bad = good.clone();
        bad[at] ^= 1;
        bad
    };
    for bad in [
        vec![],
        good[..last].to_vec(),
        good[..100].to_vec(),
        vec![b'x'; 33],
        vec![b'x'; 32],
        flipped(0),
        flipped(last),
    ] {
        fs::write(file, &bad).unwrap();
        assert_eq!(cache.emit(&request, &parse(TEXT)).unwrap(), bytes);
        assert_eq!(fs::read(file).unwrap(), good);
    }
    fs::remove_file(file).unwrap();
    assert_eq!(cache.emit(&request, &parse(TEXT)).unwrap(), bytes);
    assert_eq!(fs::read(file).unwrap(), good);
}

/// Each of these requests makes something else.
#[test]
fn whatever_decides_about_the_bytes_is_seen() {
    let folder = folder();
    let cache = Cache::new(folder.path());
    let (text, object) = ("f() -> int64 = k();", Request::default());
    let change = |change: fn(&mut Request)| {
        let mut request = object.clone();
        change(&mut request);
        request
    };
    let requests = [
        object.clone(),
        change(|request| request.form = Form::Ir),
        change(|request| request.form = Form::Native),
        change(|request| request.form = Form::Header),
        change(|request| request.metadata = false),
        change(|request| request.routines = Some(Routines::Linked)),
        change(|request| request.unchecked = vec![CheckGroup::Shape]),
        change(|request| request.entry = Some("f".to_owned())),
        change(|request| request.system_lib = Some("lib_".to_owned())),
        change(|request| request.target = "aarch64-unknown-linux-gnu".parse().unwrap()),
        change(|request| request.backend = "c".parse().unwrap()),
        change(|request| (request.backend, request.form) = (BackendName::C, Form::Native)),
        change(|request| {
            (request.backend, request.form) = (BackendName::C, Form::Native);
            request.headers = Headers::Include;
        }),
        shared("long k(void) { return 1; }"),
        shared("long k(void) { return 2; }"),
        Request { rpath: vec!["$ORIGIN".to_owned()], ..shared("long k(void) { return 2; }") },
    ];
    for turn in 0..2 {
        for (index, request) in requests.iter().enumerate() {
            let made = cache.emit(request, &parse(text)).unwrap();
            assert_eq!(made, request.emit(&parse(text)).unwrap(), "{index}");
            let expected = if turn == 0 { index + 1 } else { requests.len() };
            assert_eq!(files(folder.path()).len(), expected, "{index}");
        }
    }
}

#[test]
fn errors_leave_nothing() {
    let folder = folder();
    let cache = Cache::new(folder.path().join("cache"));
    let missing = cache.emit(&Request::new(Form::Shared), &parse(TEXT)).unwrap_err();
    assert!(matches!(missing, Error::MissingSymbols { .. }), "{missing}");
    let mut library = parse(TEXT);
    library.functions[0].signature.name = "not\na name".to_owned();
    let wrong = cache.emit(&Request::default(), &library).unwrap_err();
    assert!(matches!(wrong, Error::Declaration { .. }), "{wrong}");
    assert!(!folder.path().join("cache").exists());
    // A folder that cannot be one.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for wrong in [file.clone(), file.join("below")] {
        let error =
            Cache::new(wrong).emit(&Request::default(), &parse("f() -> None = {};")).unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
    }
}

/// The variable of the environment that names the folder of [`fills`].
const ASKED: &str = "TVM_FFI_CODEGEN_TEST_CACHE";

/// Fills the folder that another test names: threads make the same libraries, and find what others have made.
#[test]
fn fills() {
    let Some(folder) = std::env::var_os(ASKED) else { return };
    let cache = Cache::new(folder);
    let make = || {
        for number in 0..20 {
            let text = format!("f() -> int64 = {{ return {number}; }};");
            let made = cache.emit(&Request::default(), &parse(&text)).unwrap();
            assert_eq!(made, Request::default().emit(&parse(&text)).unwrap());
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(make))));
}

/// Processes that use one folder at a time agree on names and contents, and leave no other files.
#[test]
fn processes_share_a_folder() {
    let folder = folder();
    let program = std::env::current_exe().unwrap();
    let start = || {
        let mut command = Command::new(&program);
        command.args(["--exact", "cache::fills"]).env(ASKED, folder.path());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let started = [start(), start(), start()];
    for mut process in started {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(files(folder.path()).len(), 20);
}
