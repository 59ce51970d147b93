//! Tests of functions that are added to a module of the caller's: what it had is what it has.

use codegen::backend::Form;
use codegen::{Backend, Library, Options, Routines, ir, lower};
use tvm_ffi_codegen_mlir::{Input, Mlir};

/// A module with a name, attributes, symbols of several kinds, and a function whose name a routine has.
const MINE: &str = r#"module @mine attributes {mine.version = 3 : i32, dlti.dl_spec = #dlti.dl_spec<"dlti.endianness" = "little">} {
  llvm.comdat @mine_groups {
    llvm.comdat_selector @shared any
  }
  llvm.mlir.global linkonce_odr @shared(3 : i32) comdat(@mine_groups::@shared) : i32
  llvm.mlir.global internal constant @table(dense<[1, 2]> : tensor<2xi64>) {alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.mlir.global external @visible(7 : i32) {section = "mine"} : i32
  llvm.mlir.alias external @other_name : i32 {
    %0 = llvm.mlir.addressof @shared : !llvm.ptr
    llvm.return %0 : !llvm.ptr
  }
  llvm.func internal @tvm_ffi_codegen.say.STAMP(%x: i32) -> i32 attributes {mine.local} {
    llvm.br ^next
  ^next:
    llvm.return %x : i32
  }
  llvm.func hidden @add_one_kernel(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr, %n: i64) attributes {passthrough = ["nounwind", ["mine", "yes"]]} {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %more = llvm.icmp "sgt" %n, %zero : i64
    llvm.cond_br %more weights([1, 9]), ^body, ^done
  ^body:
    %v = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> f32
    llvm.store %v, %y : f32, !llvm.ptr
    llvm.br ^done
  ^done:
    llvm.return
  }
  llvm.func extern_weak @unused(i64) -> i64
}
"#;

const ADD_ONE: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one_kernel(x.data, y.data, n);";

fn linux() -> Mlir {
    Mlir { triple: "x86_64-unknown-linux-gnu".parse().unwrap(), ..Mlir::default() }
}

fn lowered(declarations: &str) -> ir::Module {
    let library: Library = declarations.parse().unwrap();
    let options = Options { routines: Routines::Once, ..Options::default() };
    lower(&library.resolve().unwrap(), &options)
}

/// Adds host IR to a module, and returns it as text.
fn extended(into: &str, source: &ir::Module) -> Result<String, String> {
    let into = Input { name: "mine.mlir", bytes: into.as_bytes(), exports: &[] };
    let text = linux().extend(into, source, &[], Form::Text).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(text).unwrap())
}

/// The lines of the operations at the top level of a printed module, in order.
fn operations(printed: &str) -> Vec<String> {
    let mut operations: Vec<String> = Vec::new();
    for line in printed.lines().filter(|line| line.starts_with("  ")) {
        let is_new =
            !line.starts_with("   ") && !line.starts_with("  }") && !line.starts_with("  ^");
        match operations.last_mut() {
            Some(last) if !is_new => last.extend(["\n", line]),
            Some(_) | None => operations.push(line.to_owned()),
        }
    }
    operations
}

#[test]
fn what_a_module_has_stays_as_it_is() {
    let before = extended(MINE, &ir::Module::default()).unwrap();
    let after = extended(MINE, &lowered(ADD_ONE)).unwrap();
    let (before, after) = (operations(&before), operations(&after));
    assert_eq!(before, after[..before.len()]);
    assert_eq!(before.len(), 8);
    let head = extended(MINE, &lowered(ADD_ONE)).unwrap();
    let head = head.lines().next().unwrap();
    assert!(head.starts_with("module @mine attributes {dlti.dl_spec = #dlti.dl_spec<"), "{head}");
    assert!(
        head.contains("mine.version = 3 : i32")
            && head.contains("llvm.target_triple = \"x86_64-unknown-linux-gnu\"")
    );
    let own = after.iter().find(|operation| operation.contains("@__tvm_ffi_add_one(")).unwrap();
    assert!(own.contains("llvm.call @add_one_kernel("), "{own}");
    // Blocks of ours keep their labels, those of the module MLIR's.
    assert!(own.contains("^") && !own.contains("^bb"), "{own}");
    assert!(after[5].contains("^bb1"), "{}", after[5]);
}

/// A text that says locations keeps them; one that says none gets none.
#[test]
fn locations_stay() {
    let line =
        |text: &str, what: &str| text.lines().find(|line| line.contains(what)).unwrap().to_owned();
    let plain = "llvm.func @malloc(i64) -> !llvm.ptr\nllvm.func @f() { llvm.return }";
    assert!(!extended(plain, &lowered(ADD_ONE)).unwrap().contains(" loc("));
    let located = "#here = loc(\"k.mine\":3:1)\nllvm.func @f() { llvm.return loc(#here) } loc(fused<\"x\">[#here])";
    let text = extended(located, &lowered(ADD_ONE)).unwrap();
    assert!(
        text.contains("= loc(\"k.mine\":3:1)") && text.contains("= loc(fused<\"x\">["),
        "{text}"
    );
    assert!(line(&text, "llvm.return").contains("loc(#"), "{text}");
    // Read again it has as many, which MLIR numbers anew.
    let again = extended(&text, &ir::Module::default()).unwrap();
    assert_eq!(again.matches("loc(").count(), text.matches("loc(").count());
    assert!(again.contains("= loc(\"k.mine\":3:1)"), "{again}");
}

#[test]
fn several_libraries_fit_into_one_module() {
    let one = extended(MINE, &lowered(ADD_ONE)).unwrap();
    // MLIR forgets the names of values that it reads.
    let read = extended(&one, &ir::Module::default()).unwrap();
    let two = extended(&one, &lowered(&ADD_ONE.replace("add_one(", "other("))).unwrap();
    let (one, two) = (operations(&read), operations(&two));
    assert_eq!(one, two[..one.len()]);
    let added: Vec<&str> = two[one.len()..].iter().map(|op| op.lines().next().unwrap()).collect();
    assert!(added.iter().all(|head| !head.contains("linkonce_odr")), "{added:#?}");
    for form in [Form::Bitcode, Form::Object] {
        let into = Input { name: "", bytes: MINE.as_bytes(), exports: &[] };
        assert!(linux().extend(into, &lowered(ADD_ONE), &[], form).unwrap().len() > 1000);
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let source = lowered(ADD_ONE);
    let once = extended(MINE, &source).unwrap();
    let triple = "module attributes {llvm.target_triple = \"aarch64-unknown-linux-gnu\"} {}";
    let layout = "module attributes {llvm.data_layout = \"E-p:32:32\"} {}";
    let target = "unsupported target x86_64-unknown-linux-gnu: the module";
    let rows = [
        ("llvm.func @f(\n", "mlir: mine.mlir: 1:14: ".to_owned()),
        (
            "func.func @f() { return }",
            "mlir: mine.mlir: 1:1: Dialect `func' not found for custom op 'func.func'; a module is read \
             in the `llvm` dialect, to which `mlir-opt --convert-func-to-llvm`"
                .to_owned(),
        ),
        (triple, format!("{target} is for aarch64-unknown-linux-gnu")),
        (layout, format!("{target}'s data layout is E-p:32:32, the target's e-m:e-")),
        (
            "llvm.func @add_one_kernel(!llvm.ptr, !llvm.ptr, i32)",
            "`add_one_kernel`: argument 2 is i32 in the module, expected i64".to_owned(),
        ),
        (
            "llvm.mlir.global external @add_one_kernel(7 : i32) : i32",
            "`add_one_kernel` is llvm.mlir.global in the module, expected llvm.func".to_owned(),
        ),
        (&once, "`__tvm_ffi_add_one` is defined in the module already".to_owned()),
    ];
    for (into, message) in rows {
        let error = extended(into, &source).unwrap_err();
        assert!(error.starts_with(&message), "{error}\n{message}");
    }
}
