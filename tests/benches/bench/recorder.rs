//! CLIF that was recorded, to tell emission from compilation.

use backend_cranelift::recorded::Recorder;
use codegen::ir;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::{Context, control::ControlPlane};
use cranelift_module::Module;

/// What `source` is in CLIF.
pub(crate) fn record(source: &ir::Module, isa: OwnedTargetIsa) -> Recorder {
    let mut recorder = Recorder::new(isa);
    backend_cranelift::emit(&mut recorder, source).expect("it is well-formed");
    recorder
}

/// The recorded functions, ready to compile.
pub(crate) fn contexts(recorder: &Recorder) -> Vec<Context> {
    recorder.functions.iter().map(|(_, func)| Context::for_function(func.clone())).collect()
}

/// Compiles to bytes.
pub(crate) fn compile(recorder: &Recorder, contexts: Vec<Context>) {
    for mut context in contexts {
        context.compile(&*recorder.isa, &mut ControlPlane::default()).expect("it compiles");
    }
}

/// Declares and defines everything in another module.
pub(crate) fn replay(recorder: &Recorder, module: &mut dyn Module, contexts: Vec<Context>) {
    for (id, function) in recorder.declarations.get_functions() {
        let name = function.linkage_name(id);
        module.declare_function(&name, function.linkage, &function.signature).expect("new");
    }
    for (id, data) in recorder.declarations.get_data_objects() {
        let name = data.linkage_name(id);
        module.declare_data(&name, data.linkage, data.writable, data.tls).expect("new");
    }
    for (id, data) in &recorder.data {
        module.define_data(*id, data).expect("new");
    }
    for ((id, _), mut context) in recorder.functions.iter().zip(contexts) {
        module.define_function(*id, &mut context).expect("it compiles");
    }
}
