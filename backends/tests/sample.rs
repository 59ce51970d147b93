//! A module with one symbol of every kind and linkage.

use codegen::ir::{
    self, Builder, Data, Linkage, Module, Signature, Symbol, SymbolKind, Type, Value,
};

/// Every target of all backends.
pub(crate) const TRIPLES: [&str; 8] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "riscv64gc-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-pc-windows-msvc",
    "x86_64-pc-windows-gnu",
];

/// Returns the signature of `kernel`.
pub(crate) fn kernel() -> Signature {
    Signature::new(&[Type::I64, Type::I32, Type::F64], Some(Type::I32))
}

fn data(module: &mut Module, name: &str, linkage: Linkage, bytes: &[u8], writable: bool) -> Symbol {
    let symbol = module.declare(name, linkage, SymbolKind::Data);
    module.data.push(Data { writable, ..Data::constant(symbol, bytes.to_vec(), 8) });
    symbol
}

/// Returns the module. Its function `entry` calls `kernel`, `helper` and `other`, and reads all data but `blob`.
pub(crate) fn module() -> Module {
    let mut module = Module::default();
    let kernel = module.declare("kernel", Linkage::Import, SymbolKind::Function(kernel()));
    let outside = module.declare("outside", Linkage::Import, SymbolKind::Data);
    let message = data(&mut module, "message", Linkage::Local, b"\"hello\"\n\0", false);
    let table = data(&mut module, "table", Linkage::Export, &[1, 2, 3, 4, 5, 6, 7, 8], false);
    let context = data(&mut module, "context", Linkage::Export, &[0; 8], true);
    data(&mut module, "blob", Linkage::Export, &[0xab; 100], false);
    let blob = module.data.last_mut().expect("added above");
    blob.large = true;
    let helper = adder(&mut module, "helper", Linkage::Local);
    let other = adder(&mut module, "other", Linkage::Export);
    let entry = Signature::new(&[Type::I64, Type::I32], Some(Type::I64));
    let mut b = Builder::function(&mut module, "entry", Linkage::Export, entry);
    let [outside, message, table, context] =
        [outside, message, table, context].map(|symbol| load(&mut b, symbol));
    let half = b.f64(0.5);
    let status = b.call_value(kernel, &[b.param(0), b.param(1), half]);
    b.hint(status, "status");
    let (bad, good) = (b.cold_block("bad"), b.block("good"));
    let failed = b.compare_const(ir::Cond::Ne, status, 0);
    b.branch(failed, bad, good);
    b.switch_to(bad);
    b.ret(Some(message));
    b.switch_to(good);
    let sum = b.call_value(helper, &[outside, table]);
    let sum = b.call_value(other, &[sum, context]);
    let pointer = b.address(other);
    let adder = b.module.signature(other).unwrap().clone();
    let sum = b.call_indirect(adder, pointer, &[sum, sum]);
    b.ret(sum);
    let function = b.finish();
    module.functions.push(function);
    ir::verify(&module).unwrap();
    module
}

fn load(b: &mut Builder<'_>, symbol: Symbol) -> Value {
    let address = b.address(symbol);
    b.load(Type::I64, address, 0)
}

fn adder(module: &mut Module, name: &str, linkage: Linkage) -> Symbol {
    let signature = Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
    let mut b = Builder::function(module, name, linkage, signature);
    let sum = b.binary(ir::Binary::Add, b.param(0), b.param(1));
    b.ret(Some(sum));
    let function = b.finish();
    let symbol = function.symbol;
    module.functions.push(function);
    symbol
}
