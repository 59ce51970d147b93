//! Tests of symbols that are declared twice.

use super::*;
use crate::ir::Type;

#[test]
fn linkages_merge_or_are_refused() {
    use Linkage::{Export, Import, Local, Once};
    for (first, second, merged) in [
        (Import, Import, Some(Import)),
        (Import, Local, Some(Local)),
        (Import, Export, Some(Export)),
        (Import, Once, Some(Once)),
        (Local, Import, Some(Local)),
        (Export, Import, Some(Export)),
        (Once, Import, Some(Once)),
        (Local, Local, Some(Local)),
        (Export, Export, Some(Export)),
        (Once, Once, Some(Once)),
        (Local, Export, None),
        (Export, Local, None),
        (Once, Local, None),
        (Once, Export, None),
        (Local, Once, None),
        (Export, Once, None),
    ] {
        let mut module = Module::default();
        let symbol = module.declare("x", first, SymbolKind::Data);
        let again = module.try_declare("x", second, SymbolKind::Data);
        let expected = merged.map(|_| symbol).ok_or_else(|| DeclareError::Linkage {
            name: "x".into(),
            known: first,
            wanted: second,
        });
        assert_eq!(again, expected);
        assert_eq!(module.symbols[symbol.index()].linkage, merged.unwrap_or(first));
    }
}

#[test]
fn another_kind_is_refused() {
    let function = |params| SymbolKind::Function(Signature::new(params, None));
    let mut module = Module::default();
    module.declare("x", Linkage::Import, function(&[Type::I64]));
    for kind in [SymbolKind::Data, function(&[]), function(&[Type::I32])] {
        let error = module.try_declare("x", Linkage::Import, kind).unwrap_err();
        assert_eq!(error, DeclareError::Kind { name: "x".into() });
        assert_eq!(error.to_string(), "`x` is declared as two things");
    }
    let error = module.try_declare("x", Linkage::Local, function(&[Type::I64]));
    let symbol = error.unwrap();
    let error = module.try_declare("x", Linkage::Once, function(&[Type::I64])).unwrap_err();
    assert_eq!(error.to_string(), "`x` is declared as local and as once");
    assert_eq!(module.symbols.len(), 1);
    assert_eq!(module.find("x"), Some(symbol));
}

#[test]
#[should_panic(expected = "`x` is declared as two things")]
fn declaring_a_name_of_ours_twice_is_a_bug() {
    let mut module = Module::default();
    module.declare("x", Linkage::Import, SymbolKind::Data);
    module.declare("x", Linkage::Import, SymbolKind::Function(Signature::default()));
}
