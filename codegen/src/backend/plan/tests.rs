//! Tests of the plan: every linkage against every state of a name in the native module.

use super::*;
use crate::ir::{Builder, Data, Relocation, Signature, SymbolKind, Type};

const FULL: Capabilities = Capabilities { once: true, aliases: true };
const PLAIN: Capabilities = Capabilities { once: false, aliases: false };

/// A native module with these names.
struct Known(&'static [(&'static str, State)]);

impl Existing for Known {
    type Native = usize;

    fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|&(known, _)| known == name)
    }

    fn state(&self, native: usize) -> State {
        self.0[native].1
    }

    /// Every symbol of these tests is data.
    fn check(&self, symbol: &SymbolData, native: usize) -> Result<(), Error> {
        match symbol.kind {
            SymbolKind::Data => Ok(()),
            SymbolKind::Function(_) => Err(Error::Kernel {
                symbol: symbol.name.clone(),
                argument: None,
                expected: "a function".into(),
                found: format!("number {native}"),
            }),
        }
    }
}

/// Plans one data object called `x`.
fn plan_of(
    linkage: Linkage,
    known: &'static [(&'static str, State)],
    capabilities: Capabilities,
) -> String {
    let mut module = Module::default();
    module.declare("x", linkage, SymbolKind::Data);
    match plan(&module, &Known(known), capabilities) {
        Ok(plans) => format!("{:?}", plans[0].source),
        Err(error) => error.to_string(),
    }
}

#[test]
fn linkages_meet_what_is_there() {
    use Linkage::{Export, Import, Local, Once, Weak};
    const NONE: &[(&str, State)] = &[];
    const DECLARED: &[(&str, State)] = &[("x", State::Declared)];
    const DEFINED: &[(&str, State)] = &[("x", State::Defined), ("x.1", State::Declared)];
    const ONCE: &[(&str, State)] = &[("x", State::Once)];
    let defined = "`x` is defined in the module already";
    for (linkage, known, expected) in [
        (Import, NONE, r#"Declare("x", Import)"#),
        (Import, DECLARED, "Reuse(0)"),
        (Import, DEFINED, "Reuse(0)"),
        (Import, ONCE, "Reuse(0)"),
        (Local, NONE, r#"Declare("x", Local)"#),
        (Local, DECLARED, r#"Declare("x.1", Local)"#),
        (Local, DEFINED, r#"Declare("x.2", Local)"#),
        (Local, ONCE, r#"Declare("x.1", Local)"#),
        (Export, NONE, r#"Declare("x", Export)"#),
        (Export, DECLARED, "Define(0, Export)"),
        (Export, DEFINED, defined),
        (Export, ONCE, defined),
        (Once, NONE, r#"Declare("x", Once)"#),
        (Once, DECLARED, "Define(0, Once)"),
        (Once, DEFINED, defined),
        (Once, ONCE, "Reuse(0)"),
        (Weak, NONE, r#"Declare("x", Weak)"#),
        (Weak, DECLARED, "Define(0, Weak)"),
        (Weak, DEFINED, "Reuse(0)"),
        (Weak, ONCE, "Reuse(0)"),
    ] {
        assert_eq!(plan_of(linkage, known, FULL), expected, "{linkage} {known:?}");
    }
    assert_eq!(plan_of(Once, NONE, PLAIN), r#"Declare("x", Local)"#);
    assert_eq!(plan_of(Once, ONCE, PLAIN), r#"Declare("x.1", Local)"#);
}

#[test]
fn another_meaning_of_a_name_is_refused() {
    let mut module = Module::default();
    let kind = SymbolKind::Function(Signature::default());
    module.declare("f", Linkage::Import, kind);
    let error = plan(&module, &Known(&[("f", State::Declared)]), FULL).unwrap_err();
    assert_eq!(error.to_string(), "`f` is number 0 in the module, expected a function");
}

#[test]
fn new_names_are_nobody_elses() {
    let mut module = Module::default();
    for name in ["x", "x.1", "y"] {
        module.declare(name, Linkage::Local, SymbolKind::Data);
    }
    let known = Known(&[("x", State::Defined), ("x.1", State::Defined), ("y.1", State::Defined)]);
    let plans = plan(&module, &known, FULL).unwrap();
    let names = plans.iter().map(|plan| match &plan.source {
        SymbolSource::Declare(name, Linkage::Local) => name.as_ref(),
        SymbolSource::Declare(..) | SymbolSource::Define(..) | SymbolSource::Reuse(_) => {
            panic!("{:?}", plan.source)
        }
    });
    assert_eq!(names.collect::<Vec<_>>(), ["x.2", "x.1.1", "y"]);
}

#[test]
fn what_is_exported_and_used_has_a_local_name() {
    let mut module = Module::default();
    let data = ["unused", "loaded", "pointed_at"].map(|name| {
        let symbol = module.declare(name, Linkage::Export, SymbolKind::Data);
        module.data.push(Data::constant(symbol, vec![0; 8], 8));
        symbol
    });
    let relocation = Relocation { offset: 0, symbol: data[2], addend: 0 };
    module.data[0].relocations.push(relocation);
    module.declare("loaded.local", Linkage::Import, SymbolKind::Data);
    let mut b = Builder::function(&mut module, "f", Linkage::Export, Signature::default());
    let address = b.address(data[1]);
    b.load(Type::I64, address, 0);
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
    let aliases = |place| -> Vec<_> {
        let plans = plan(&module, &Known(&[]), place).unwrap();
        plans.into_iter().map(|plan| plan.alias.unwrap_or_default()).collect()
    };
    assert_eq!(aliases(FULL), ["", "loaded.local.1", "pointed_at.local", "", ""]);
    assert_eq!(aliases(PLAIN), ["", "", "", "", ""]);
}
