use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn is_large(x: u8) -> i32 {
    (x > 256) as i32
}

fn main() {}
