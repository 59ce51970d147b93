//! Tests of functions that are added to a module of the caller's: what it had is what it has.

use codegen::backend::Form;
use codegen::{Backend, Library, Options, Routines, ir, lower};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use object::{Object, ObjectSymbol, SymbolScope};
use tvm_ffi_codegen_llvm::{Error, Input, Llvm, Optimize, verify};

use crate::jit::host;

/// A module with everything that LLVM's text can say about symbols.
const MINE: &str = include_str!("mine.ll");

const ADD_ONE: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one_kernel(x.data, y.data, n);";

fn linux() -> Llvm {
    Llvm { triple: "x86_64-unknown-linux-gnu".parse().unwrap(), ..host(Optimize::O2) }
}

/// Lowers declarations as they are for a module that grows.
fn lowered(declarations: &str) -> ir::Module {
    let mut library: Library = declarations.parse().unwrap();
    library.images.iter_mut().for_each(|image| image.bytes = Some(b".version 8.0\n".to_vec()));
    let options = Options { routines: Routines::Once, ..Options::default() };
    lower(&library.resolve().unwrap(), &options)
}

fn input(bytes: &[u8]) -> Input<'_> {
    Input { name: "mine.ll", bytes, exports: &[] }
}

/// Adds declarations to a module, and returns it as text.
fn extended(llvm: &Llvm, into: &str, source: &ir::Module) -> Result<String, Error> {
    let bytes = llvm.extend(input(into.as_bytes()), source, &[], Form::Text)?;
    Ok(String::from_utf8(bytes).unwrap())
}

/// Returns what LLVM prints of a text that it has read and verified.
fn printed(text: &[u8]) -> String {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text, "");
    let module = context.create_module_from_ir(buffer).unwrap();
    verify(&module).unwrap();
    module.print_to_string().to_string()
}

/// Returns a printed module with the attributes of each function and call in the place of the number of their group,
/// since LLVM counts the groups of calls after those of functions.
fn without_groups(printed: &str) -> String {
    let is_group = |line: &&str| line.starts_with("attributes #");
    let mut text: String =
        printed.lines().filter(|line| !is_group(line)).map(|line| format!("{line}\n")).collect();
    let mut groups: Vec<(&str, &str)> = printed
        .lines()
        .filter(is_group)
        .map(|line| line["attributes ".len()..].split_once(" = ").unwrap())
        .collect();
    // `#10` before `#1`.
    groups.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, attributes) in groups {
        text = text.replace(&format!(" {name}"), &format!(" {attributes}"));
    }
    text
}

/// Checks that each function of `before` is in `after` as it is, and each line of all else.
fn assert_kept(before: &str, after: &str) {
    let (before, after) = (without_groups(before), without_groups(after));
    let mut rest = before.as_str();
    while let Some(at) = rest.find("\ndefine ") {
        let end = at + rest[at..].find("\n}\n").unwrap() + 3;
        assert!(after.contains(&rest[at..end]), "{}\n{after}", &rest[at..end]);
        rest = &rest[end..];
    }
    let lines: std::collections::HashSet<&str> = after.lines().collect();
    for line in before.lines() {
        assert!(lines.contains(line), "{line}\n{after}");
    }
}

/// The names that a printed module defines, in its order.
fn defined(printed: &str) -> Vec<&str> {
    let heads = printed.lines().filter_map(|line| {
        let line =
            line.strip_prefix("define ").map_or(line, |head| &head[head.find('@').unwrap()..]);
        line.strip_prefix('@')
    });
    heads.map(|head| head.split([' ', '(']).next().unwrap()).collect()
}

#[test]
fn what_a_module_has_stays_as_it_is() {
    let before = printed(MINE.as_bytes());
    for into in [MINE.to_owned(), before.clone()] {
        let after = extended(&linux(), &into, &lowered(ADD_ONE)).unwrap();
        assert_eq!(printed(after.as_bytes()), after);
        assert_kept(&before, &after);
        assert!(after.contains("call void @add_one_kernel(ptr %"), "{after}");
        // The kernel is defined here.
        assert!(!after.contains("declare void @add_one_kernel"));
        // A local function of ours gives way to one of the module's.
        assert_eq!(after.matches("@tvm_ffi_codegen.say(").count(), 2);
    }
}

/// Places in the source of declarations are beside those of the module, whose flags stay.
#[test]
fn locations_of_declarations_join_those_of_the_module() {
    let mut library: Library = ADD_ONE.parse().unwrap();
    library.functions[0].location = Some(codegen::Location::new("demo.mt", 7));
    let options = Options { routines: Routines::Once, ..Options::default() };
    let source = lower(&library.resolve().unwrap(), &options);
    let after = extended(&linux(), MINE, &source).unwrap();
    assert_eq!(printed(after.as_bytes()), after);
    // LLVM numbers the nodes anew.
    let list = |name: &str| after.lines().find(|line| line.starts_with(name)).unwrap();
    assert_eq!(list("!llvm.dbg.cu = ").matches(", !").count(), 1);
    assert_eq!(list("!llvm.module.flags = ").matches(", !").count(), 2);
    for node in ["\"Dwarf Version\", i32 4}", "name: \"add_one_kernel\"", "line: 7,"] {
        assert!(after.contains(node), "{node}\n{after}");
    }
}

/// The level of optimisation is for code; the first one is seen in attributes, too.
#[test]
fn text_and_bitcode_are_not_optimised() {
    let source = lowered(ADD_ONE);
    let text = extended(&linux(), MINE, &source).unwrap();
    for level in [Optimize::O0, Optimize::O2, Optimize::O3] {
        let llvm = Llvm { optimize: level, ..linux() };
        assert_eq!(extended(&llvm, MINE, &source).unwrap(), text);
        let from_text = llvm.extend(input(MINE.as_bytes()), &source, &[], Form::Bitcode).unwrap();
        let plain = Llvm::default().extend(input(b""), &ir::Module::default(), &[], Form::Bitcode);
        assert!(from_text.starts_with(b"BC") && plain.unwrap().starts_with(b"BC"));
        let again =
            llvm.extend(input(&from_text), &ir::Module::default(), &[], Form::Text).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), text);
    }
}

/// An empty module takes on the target; one that states a target keeps its spelling.
#[test]
fn modules_keep_or_take_on_a_target() {
    let source = lowered(ADD_ONE);
    let text = extended(&linux(), "", &source).unwrap();
    assert!(text.starts_with("target datalayout = \"e-m:e-"), "{text}");
    assert!(text.contains("\ntarget triple = \"x86_64-unknown-linux-gnu\"\n"));
    let text = extended(&linux(), "target triple = \"x86_64-pc-linux\"", &source).unwrap();
    assert!(text.contains("\ntarget triple = \"x86_64-pc-linux\"\n"));
    for triple in ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"] {
        let llvm = Llvm { triple: triple.parse().unwrap(), ..linux() };
        extended(&llvm, "", &source).unwrap();
        let error = extended(&llvm, MINE, &source).unwrap_err().to_string();
        let expected =
            format!("unsupported target {triple}: the module is for x86_64-pc-linux-gnu");
        assert_eq!(error, expected);
    }
}

/// Declarations whose functions use routines and variables of every kind.
const ALL: [&str; 6] = [
    "f(x: Tensor([m, n], float16, strides=any, device=cuda), a: float32, flag: bool) -> None where m % 16 == 0
         = try k0(x.data, a, ceildiv(m, n), flag);",
    "f(a: str, b: Array[int64], c: Map[str, Any], d: Union[str, dtype]) -> None = k1(a.data);",
    "f(x: Tensor([n], float32)) -> y: Tensor([n], float32) = k2(x.data, y.data);",
    "f(x: Any) -> Any = { let r: Any = @\"g\"(x); return r; };",
    "image i; f(x: Tensor([n], float32, device=cuda)) -> None
         = { launch i.\"k\"(x.data, n) grid(n) block(128); };",
    "f(n: int64) -> Function = { return function (m: int64) -> int64 { return n + m; }; };",
];

/// Each routine and each variable of routines is there once, whichever library came first.
#[test]
fn several_libraries_fit_into_one_module() {
    let renamed = |text: &str, name: &str| text.replacen("f(", &format!("{name}("), 1);
    for llvm in [linux(), Llvm { triple: "x86_64-pc-windows-msvc".parse().unwrap(), ..linux() }] {
        for (i, first) in ALL.iter().enumerate() {
            for second in &ALL[i..] {
                let first = lowered(&renamed(first, "one"));
                let second = lowered(&renamed(second, "two"));
                let once = extended(&llvm, "", &first).unwrap();
                let twice = extended(&llvm, &once, &second).unwrap();
                assert_eq!(printed(twice.as_bytes()), twice);
                assert_kept(&once, &twice);
                // Names of routines end in their stamp.
                let is_copy = |name: &&str| {
                    let (stem, number) = name.rsplit_once('.').unwrap_or((name, ""));
                    let is_stamp =
                        |part: &str| part.len() == 16 && u64::from_str_radix(part, 16).is_ok();
                    number.parse::<u32>().is_ok() && stem.rsplit('.').next().is_some_and(is_stamp)
                };
                let copies: Vec<&str> = defined(&twice).into_iter().filter(is_copy).collect();
                assert_eq!(copies, [""; 0]);
                let contexts =
                    defined(&twice).into_iter().filter(|name| *name == "__tvm_ffi__library_ctx");
                assert!(contexts.count() <= 1);
                let unoptimised = Llvm { optimize: Optimize::O0, ..llvm.clone() };
                let nothing = ir::Module::default();
                unoptimised.extend(input(twice.as_bytes()), &nothing, &[], Form::Object).unwrap();
            }
        }
    }
}

/// Attributes of a declaration in a module need not be true of the definition that is added.
#[test]
fn a_declaration_says_only_the_type_of_its_definition() {
    let source = lowered(ADD_ONE);
    let head = |text: &str| {
        let mut lines = text.lines().filter(|line| line.contains(" @__tvm_ffi_add_one("));
        let line = lines.find(|line| line.starts_with("define")).unwrap().to_owned();
        let (before, group) = line.rsplit_once('#').unwrap_or((&line, ""));
        let group = group.trim_end_matches(" {");
        let group = text.lines().find(|line| line.starts_with(&format!("attributes #{group} =")));
        (before.to_owned(), group.unwrap().split_once(" = ").unwrap().1.to_owned())
    };
    let bare = head(&extended(&linux(), "", &source).unwrap());
    for [start, end] in [
        ["", "memory(none) willreturn \"mine\"=\"yes\" section \"mine\""],
        ["extern_weak", "unnamed_addr noreturn"],
        ["hidden range(i32 0, 5)", ""],
        ["protected noundef", ""],
        ["!x !0", ""],
    ] {
        let params = "ptr readnone captures(none), ptr align 64, i32 range(i32 0, 1), ptr nonnull";
        let declared =
            format!("declare {start} i32 @__tvm_ffi_add_one({params}) {end}\n!0 = !{{}}");
        let text = extended(&linux(), &declared, &source).unwrap();
        let (before, group) = head(&text);
        // LLVM knows that nothing outside the library takes the place of what was hidden.
        assert_eq!((before.replace("dso_local ", ""), group), bare, "{declared}");
    }
    let windows = Llvm { triple: "x86_64-pc-windows-msvc".parse().unwrap(), ..linux() };
    let declared = "declare dllimport i32 @__tvm_ffi_add_one(ptr, ptr, i32, ptr)";
    let text = extended(&windows, declared, &source).unwrap();
    assert!(text.contains("define dllexport i32 @__tvm_ffi_add_one("), "{text}");
}

#[test]
fn what_does_not_fit_is_an_error() {
    let with_tree = |name: &str| {
        let mut library: Library =
            ADD_ONE.replace("add_one(", &format!("{name}(")).parse().unwrap();
        let custom =
            codegen::library_bin::Module::Custom { kind: "k".into(), bytes: b"1"[..].into() };
        let node = |module, children| codegen::library_bin::Node { module, children };
        let nodes =
            vec![node(codegen::library_bin::Module::Library, vec![1]), node(custom, Vec::new())];
        library.imports = Some(codegen::library_bin::ImportTree { nodes });
        lower(
            &library.resolve().unwrap(),
            &Options { routines: Routines::Once, ..Options::default() },
        )
    };
    let source = lowered(ADD_ONE);
    let once = extended(&linux(), MINE, &source).unwrap();
    let tree = extended(&linux(), "", &with_tree("one")).unwrap();
    let cut = linux().extend(input(MINE.as_bytes()), &source, &[], Form::Bitcode).unwrap();
    let rows: [(&[u8], &ir::Module, &str); 11] = [
        (b"define void @f() {\n  ret i32\n}\n", &source, "llvm: mine.ll:3:1: error: "),
        (b"define i64 @f(i32 %x) { ret i32 %x }", &source, "llvm: mine.ll:1:"),
        (&cut[..cut.len() / 2], &source, "llvm: mine.ll: "),
        (
            b"target datalayout = \"E-p:32:32\"",
            &source,
            "unsupported target x86_64-unknown-linux-gnu: the module's data layout is E-p:32:32, the target's e-m:e-",
        ),
        (
            b"define void @add_one_kernel(ptr %x, ptr %y, i32 %n) { ret void }",
            &source,
            "`add_one_kernel`: argument 2 is i32 in the module, expected i64",
        ),
        (
            b"@add_one_kernel = global i32 0",
            &source,
            "`add_one_kernel` is data in the module, expected a function",
        ),
        (
            b"@add_one_kernel = ifunc void (ptr, ptr, i64), ptr @r\ndefine ptr @r() { ret ptr null }",
            &source,
            "`add_one_kernel` is an ifunc in the module, expected a function",
        ),
        (
            b"declare i64 @__tvm_ffi_add_one(ptr)",
            &source,
            "`__tvm_ffi_add_one` is i64 (ptr) in the module, expected i32 (ptr, ptr, i32, ptr)",
        ),
        (
            b"declare i64 @TVMFFIErrorSetRaised(ptr)",
            &source,
            "`TVMFFIErrorSetRaised` is i64 (ptr) in the module, expected void (ptr)",
        ),
        (once.as_bytes(), &source, "`__tvm_ffi_add_one` is defined in the module already"),
        (
            tree.as_bytes(),
            &with_tree("two"),
            "`__tvm_ffi__library_bin` is defined in the module already",
        ),
    ];
    for (into, source, message) in rows {
        let error = linux().extend(input(into), source, &[], Form::Text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}\n{message}");
    }
}

/// Code is optimised; what the module shows stays what it was.
#[test]
fn objects_have_the_whole_module() {
    for level in [Optimize::O0, Optimize::O2] {
        let llvm = Llvm { optimize: level, ..linux() };
        let bytes =
            llvm.extend(input(MINE.as_bytes()), &lowered(ADD_ONE), &[], Form::Object).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let scope = |name: &str| {
            let symbol =
                file.symbols().find(|symbol| symbol.name() == Ok(name) && !symbol.is_undefined());
            symbol.map(|symbol| (symbol.scope(), symbol.is_weak()))
        };
        for (name, expected) in [
            ("add_one_kernel", (SymbolScope::Dynamic, false)),
            ("shared", (SymbolScope::Dynamic, true)),
            ("other_name", (SymbolScope::Dynamic, false)),
            ("chosen", (SymbolScope::Dynamic, false)),
            ("visible", (SymbolScope::Dynamic, false)),
            ("unused", (SymbolScope::Dynamic, true)),
            ("hidden", (SymbolScope::Linkage, false)),
            ("__tvm_ffi_add_one", (SymbolScope::Dynamic, false)),
        ] {
            assert_eq!(scope(name), Some(expected), "{name} {level:?}");
        }
    }
}

/// Kernels become a part of the module, where nobody else sees them.
#[test]
fn kernels_are_linked_into_the_module() {
    let kernel = "define void @add_one_kernel(ptr %x, ptr %y, i64 %n) { ret void }";
    let kernels = [Input { name: "kernel.ll", bytes: kernel.as_bytes(), exports: &[] }];
    let mine = "@mine = global i32 1\n";
    let bytes = linux().extend(input(mine.as_bytes()), &lowered(ADD_ONE), &kernels, Form::Text);
    let text = String::from_utf8(bytes.unwrap()).unwrap();
    assert!(
        text.contains("define internal void @add_one_kernel(")
            && text.contains("\n@mine = global i32 1\n")
    );
    let clash = linux().extend(input(MINE.as_bytes()), &lowered(ADD_ONE), &kernels, Form::Text);
    let expected =
        "llvm: kernel.ll: Linking globals named 'add_one_kernel': symbol multiply defined!";
    assert_eq!(clash.unwrap_err().to_string(), expected);
}

/// At `-O1` code generators spare cold functions, whoever runs them: `optnone` is an attribute of each.
#[test]
fn cold_functions_are_spared_at_the_first_level() {
    let source = lowered(ADD_ONE);
    let spared = |optimize| {
        let text = extended(&Llvm { optimize, ..linux() }, "", &source).unwrap();
        let spared =
            text.lines().any(|line| line.starts_with("attributes #") && line.contains(" optnone "));
        assert_eq!(text.contains("minsize"), !spared, "{text}");
        printed(text.as_bytes());
        spared
    };
    assert_eq!([Optimize::O0, Optimize::O1, Optimize::O2].map(spared), [false, true, false]);
}
