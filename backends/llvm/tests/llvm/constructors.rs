//! Tests of constructors.

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use tvm_ffi_codegen_llvm::{emit, verify};

use crate::constructor;

/// Returns the list of constructors after emission into a module with `text`, `times` times.
fn list(text: &str, times: usize) -> String {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
    let module = context.create_module_from_ir(buffer).unwrap();
    (0..times).for_each(|_| drop(emit(&module, &constructor::module()).unwrap()));
    verify(&module).unwrap();
    let text = module.print_to_string().to_string();
    let mut lines = text.lines().filter(|line| line.starts_with("@llvm.global_ctors"));
    let line = lines.next().unwrap_or_default().to_owned();
    assert_eq!(lines.next(), None, "{text}");
    line
}

#[test]
fn constructors_join_those_of_the_module() {
    const HEAD: &str = "@llvm.global_ctors = appending global";
    let entry = |name: &str| format!("{{ i32, ptr, ptr }} {{ i32 65535, ptr @{name}, ptr null }}");
    let expected = |names: &[&str]| {
        let entries: Vec<String> = names.iter().map(|name| entry(name)).collect();
        format!("{HEAD} [{} x {{ i32, ptr, ptr }}] [{}]", names.len(), entries.join(", "))
    };
    assert_eq!(list("", 1), expected(&["start"]));
    assert_eq!(list("", 2), expected(&["start", "start.1"]));
    let own = format!("declare void @own()\n{}", expected(&["own"]));
    assert_eq!(list(&own, 2), expected(&["own", "start", "start.1"]));
}
