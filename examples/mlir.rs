//! A compiler on MLIR: its kernel, built of operations of the `llvm` dialect, and the wrapper in one
//! module.

mod call;

use std::error::Error;

use backend_llvm::{Llvm, optimize};
use backend_mlir::inkwell::OptimizationLevel;
use backend_mlir::inkwell::context::Context as LlvmContext;
use backend_mlir::melior::Context;
use backend_mlir::melior::dialect::{DialectHandle, llvm};
use backend_mlir::melior::ir::attribute::{
    DenseI32ArrayAttribute, FloatAttribute, IntegerAttribute,
};
use backend_mlir::melior::ir::attribute::{StringAttribute, TypeAttribute};
use backend_mlir::melior::ir::operation::{Operation, OperationBuilder};
use backend_mlir::melior::ir::r#type::IntegerType;
use backend_mlir::melior::ir::{
    Attribute, Block, BlockLike, Identifier, Location, Module, Region, RegionLike,
};
use backend_mlir::melior::ir::{Type, Value};
use backend_mlir::{emit, signature, translate};
use codegen::ir::Signature;

/// Builds an operation with at most one result.
fn op<'c>(
    context: &'c Context,
    name: &str,
    operands: &[Value<'c, '_>],
    result: Option<Type<'c>>,
    attributes: &[(&str, Attribute<'c>)],
    successors: &[&Block<'c>],
) -> Operation<'c> {
    let named = |&(name, value): &(&str, _)| (Identifier::new(context, name), value);
    let attributes: Vec<_> = attributes.iter().map(named).collect();
    OperationBuilder::new(name, Location::unknown(context))
        .add_operands(operands)
        .add_results(result.as_slice())
        .add_attributes(&attributes)
        .add_successors(successors)
        .build()
        .expect("its results are given")
}

/// Fills a block with `y[i] = x[i] + 1` and a jump to the next `i`.
fn fill_body<'c>(
    context: &'c Context,
    body: &Block<'c>,
    head: &Block<'c>,
    xyi: [Value<'c, '_>; 3],
) {
    let ([x, y, i], here) = (xyi, Location::unknown(context));
    let (float, long) = (Type::float32(context), Type::from(IntegerType::new(context, 64)));
    let value = |operation| body.append_operation(operation).result(0).expect("a result").into();
    let at = |base| {
        let pointer = llvm::r#type::pointer(context, 0);
        llvm::get_element_ptr_dynamic(context, base, &[i], float, pointer, here)
    };
    let [from, to]: [Value<'c, '_>; 2] = [value(at(x)), value(at(y))];
    let loaded = value(op(context, "llvm.load", &[from], Some(float), &[], &[]));
    let number = [("value", FloatAttribute::new(context, float, 1.0).into())];
    let one = value(op(context, "llvm.mlir.constant", &[], Some(float), &number, &[]));
    let sum = value(op(context, "llvm.fadd", &[loaded, one], Some(float), &[], &[]));
    body.append_operation(op(context, "llvm.store", &[sum, to], None, &[], &[]));
    let number = [("value", IntegerAttribute::new(long, 1).into())];
    let step = value(op(context, "llvm.mlir.constant", &[], Some(long), &number, &[]));
    let next = value(op(context, "llvm.add", &[i, step], Some(long), &[], &[]));
    body.append_operation(op(context, "llvm.br", &[next], None, &[], &[head]));
}

/// Defines `for i in 0..n: y[i] = x[i] + 1`.
fn define_kernel<'c>(context: &'c Context, module: &Module<'c>, ty: &Signature) {
    let here = Location::unknown(context);
    let (bool, long) = (IntegerType::new(context, 1).into(), IntegerType::new(context, 64).into());
    let pointer = llvm::r#type::pointer(context, 0);
    let entry = Block::new(&[(pointer, here), (pointer, here), (long, here)]);
    let head = Block::new(&[(long, here)]);
    let (body, done) = (Block::new(&[]), Block::new(&[]));
    let [x, y, n] = [0, 1, 2].map(|i| Value::from(entry.argument(i).expect("three parameters")));
    let i = Value::from(head.argument(0).expect("one parameter"));

    let number = [("value", IntegerAttribute::new(long, 0).into())];
    let zero = op(context, "llvm.mlir.constant", &[], Some(long), &number, &[]);
    let zero = entry.append_operation(zero).result(0).expect("a result").into();
    entry.append_operation(op(context, "llvm.br", &[zero], None, &[], &[&head]));

    // Predicate 2 is signed less-than.
    let less = [("predicate", IntegerAttribute::new(long, 2).into())];
    let more = op(context, "llvm.icmp", &[i, n], Some(bool), &less, &[]);
    let more = head.append_operation(more).result(0).expect("a result").into();
    let segments = DenseI32ArrayAttribute::new(context, &[1, 0, 0]).into();
    let segments = [("operandSegmentSizes", segments)];
    head.append_operation(op(context, "llvm.cond_br", &[more], None, &segments, &[&body, &done]));

    fill_body(context, &body, &head, [x, y, i]);
    done.append_operation(llvm::r#return(None, here));
    let region = Region::new();
    for block in [entry, head, body, done] {
        region.append_block(block);
    }
    let name = StringAttribute::new(context, "add_one_kernel");
    let ty = TypeAttribute::new(signature(context, ty));
    let internal = llvm::attributes::linkage(context, llvm::attributes::Linkage::Internal);
    let internal = (Identifier::new(context, "linkage"), internal);
    module.body().append_operation(llvm::func(context, name, ty, region, &[internal], here));
}

fn main() -> Result<(), Box<dyn Error>> {
    let (source, kernel) = call::add_one()?;
    let context = Context::new();
    DialectHandle::llvm().load_dialect(&context);
    let module = Module::new(Location::unknown(&context));
    define_kernel(&context, &module, &kernel);
    emit(&context, &module, &source)?;

    // From here on the module is LLVM IR: `compile` would make an object; this example runs it in process.
    let llvm = LlvmContext::create();
    let module = translate(&context, &module, &llvm)?;
    optimize(&module, &Llvm::default())?;
    let inlined = module.get_function("add_one_kernel").is_none();
    println!("kernel inlined: {inlined}");
    let engine = module.create_jit_execution_engine(OptimizationLevel::Default);
    let engine = engine.map_err(|reason| reason.to_string())?;
    for (name, address) in call::imports(&source) {
        if let Some(function) = module.get_function(name) {
            engine.add_global_mapping(&function, address as usize);
        }
    }
    let code = engine.get_function_address("__tvm_ffi_add_one")?;
    // SAFETY: the engine lives, and this is the wrapper.
    unsafe { call::call(code as *const u8) };
    Ok(())
}
