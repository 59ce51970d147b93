//! Entries and system libraries.

use tvm_ffi_codegen::{Error, Inquiry, Library, Options, Part, ir, lower, metadata};

/// Functions of these names, and an entry.
fn library(functions: &[&str], entry: Option<&str>) -> Library {
    let text: String = functions.iter().map(|name| format!("{name}() -> None = k();")).collect();
    let library: Library = text.parse().unwrap();
    entry.map_or(library.clone(), |entry| library.with_entry(entry))
}

fn exports(module: &ir::Module) -> Vec<&str> {
    let exported = module.symbols.iter().filter(|symbol| symbol.linkage.is_exported());
    exported.map(|symbol| symbol.name.as_str()).collect()
}

fn bare() -> Options {
    Options { metadata: false, ..Options::default() }
}

#[test]
fn the_entry_is_exported_as_main() {
    let rows: [(&[&str], Option<&str>, &[&str]); 4] = [
        (&["f"], None, &["__tvm_ffi_f"]),
        (&["f", "g"], Some("g"), &["__tvm_ffi_f", "__tvm_ffi_g", "__tvm_ffi_main"]),
        (&["main"], None, &["__tvm_ffi_main"]),
        (&["main"], Some("main"), &["__tvm_ffi_main"]),
    ];
    for (functions, entry, expected) in rows {
        let module = lower(&library(functions, entry).resolve().unwrap(), &bare());
        ir::verify(&module).unwrap();
        assert_eq!(exports(&module), expected, "{functions:?} {entry:?}");
    }
}

#[test]
fn entries_that_cannot_be_are_errors() {
    let unknown = library(&["f"], Some("g"));
    let error = Error::Entry { name: "g".to_owned() };
    assert_eq!(unknown.validate(), Err(error.clone().into()));
    assert_eq!(error.to_string(), "entry: there is no function \"g\"");

    let twice = library(&["f", "main"], Some("f"));
    let error = twice.validate().unwrap_err().into_first();
    assert_eq!(error.site().map(|site| (site.function, site.part)), Some((1, Part::Name)));
    let message = "main: `main` is declared twice: it is the name of the entry `f` too";
    assert_eq!(error.to_string(), message);
    let prepared = library(&["f"], Some("f")).with_prepare("main").validate();
    let prepared = prepared.unwrap_err().into_first();
    assert_eq!(prepared.site().map(|site| (site.function, site.part)), Some((1, Part::Name)));
    assert_eq!(prepared.to_string(), message);
    let text = "main() -> None = k(); main() -> None = k();".parse::<Library>().unwrap_err();
    assert!(text.to_string().contains("main: an earlier function has this name"), "{text}");
}

/// A kernel that is misspelt would never be asked about, and a function without a name never found.
#[test]
fn inquiries_that_cannot_be_are_errors() {
    let long = "f".repeat(5000);
    let rows: [(&str, &[&str], Option<&str>); 9] = [
        ("a.b", &["k"], None),
        ("🦀 and `x`", &["inner", "k"], None),
        ("", &["k"], Some("\"\" names no function")),
        ("a\0b", &["k"], Some("\"a\\0b\" names no function")),
        ("🦀\n", &["k"], Some("\"🦀\\n\" names no function")),
        (&long, &["k"], Some("more than 4096 bytes in a name (MAX_NAME)")),
        ("a.b", &["k", "nope"], Some("there is no kernel \"nope\"")),
        ("a.b", &["k", "inner", "k"], Some("the kernel \"k\" is named twice")),
        ("a.b", &[], Some("there are no kernels after which the function is asked")),
    ];
    let text = "f(n: int64) -> None = k(n);
        g() -> Function = { return function (n: int64) -> None { inner(n); @\"nope\"(); }; };";
    let library: Library = text.parse().unwrap();
    for (function, kernels, reason) in rows {
        let asked = library.clone().with_inquiry(Inquiry::new(function, kernels.iter().copied()));
        let error = asked.validate().err().map(|errors| errors.to_string());
        assert_eq!(error, reason.map(|reason| format!("inquiry: {reason}")), "{function:?}");
    }
}

#[test]
fn system_libraries_register_what_they_export() {
    // The new name of the first is the old name of the second.
    let of = |prefix: &str| library(&["a", "xa"], Some("a")).with_system_lib(prefix);
    let module = lower(&of("x").resolve().unwrap(), &Options::default());
    ir::verify(&module).unwrap();
    let registered = [
        "__tvm_ffi_xa",
        "__tvm_ffi_xxa",
        "__tvm_ffi_xmain",
        "x__tvm_ffi__metadata_a",
        "x__tvm_ffi__metadata_xa",
        "x__tvm_ffi__library_bin",
        "x__tvm_ffi__library_ctx",
    ];
    let mut all = registered;
    let mut exported = exports(&module);
    all.sort_unstable();
    exported.sort_unstable();
    assert_eq!(exported, all);
    let names =
        module.data.iter().find(|data| module.name(data.symbol).ends_with("names")).unwrap();
    assert_eq!(String::from_utf8(names.bytes.clone()).unwrap(), registered.join("\0") + "\0");
    let texts = module.data.iter().find(|data| data.listed).unwrap();
    let texts: Vec<_> = metadata::texts(&texts.bytes).map(|(_, name, _)| name).collect();
    assert_eq!(texts, [b"xa".as_slice(), b"xxa"]);
    let constructors: Vec<&str> = module.constructors.iter().map(|&s| module.name(s)).collect();
    assert_eq!(constructors, ["tvm_ffi_codegen.register"]);
    assert!(module.to_string().contains("constructor @tvm_ffi_codegen.register\n"));

    let plain = lower(&of("").resolve().unwrap(), &bare());
    assert_eq!(exports(&plain), ["__tvm_ffi_a", "__tvm_ffi_xa", "__tvm_ffi_main"]);
}

#[test]
fn prefixes_that_cannot_be_are_errors() {
    let rows = [
        ("_a", "system library prefix \"_a\": it is no identifier that starts with a letter"),
        ("a.b", "system library prefix \"a.b\": it is no identifier that starts with a letter"),
        ("k", "system library prefix \"k\": a kernel has the name `k__tvm_ffi__library_ctx`"),
    ];
    let library: Library = "f() -> None = k__tvm_ffi__library_ctx();".parse().unwrap();
    for (prefix, message) in rows {
        let library = library.clone().with_system_lib(prefix);
        let error = library.validate().unwrap_err().into_first();
        assert!(matches!(&error, Error::Prefix { prefix: found, .. } if found == prefix));
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn functions_that_are_called_have_no_name_that_a_prefix_makes() {
    let of = |text: &str, entry: Option<&str>| {
        let library = text.parse::<Library>().unwrap().with_system_lib("x");
        let library = match entry {
            Some(entry) => library.with_entry(entry),
            None => library,
        };
        library.validate().map_err(|error| error.to_string())
    };
    let error = |name: &str| {
        Err(format!("system library prefix \"x\": `@{name}` has the name that it gives a function"))
    };
    assert_eq!(of("a() -> None = { @xa(); };", None), error("xa"));
    assert_eq!(of("a() -> None = { @xmain(); };", Some("a")), error("xmain"));
    assert_eq!(of("a() -> None = { @xmain(); @ya(); };", None), Ok(()));
    assert_eq!(of("a() -> None = { @xa(); }; xa() -> None = k();", None), Ok(()));
}

#[test]
fn c_functions_have_the_prefix_and_are_not_registered() {
    let library: Library = "extern half(x: float64) -> float64 = k(x);".parse().unwrap();
    let library = library.with_system_lib("my_");
    let resolved = library.resolve().unwrap();
    assert!(resolved.header().contains("int32_t my_half(double x, double* result);"));
    let module = lower(&resolved, &bare());
    ir::verify(&module).unwrap();
    let functions = exports(&module).into_iter().filter(|name| name.ends_with("half"));
    assert_eq!(functions.collect::<Vec<_>>(), ["__tvm_ffi_my_half", "my_half"]);
    let names = module.find("tvm_ffi_codegen.register.names").unwrap();
    let names = &module.data.iter().find(|data| data.symbol == names).unwrap().bytes;
    let mut names = names.split(|byte| *byte == 0);
    assert!(!names.any(|name| name == b"my_half"));
}
