//! Declarations with what options say of them: for files and in process alike.

use codegen::library_bin::{ImportTree, Module, Node};
use codegen::{Library, Options, Prepare, Unchecked};

use crate::fault::Fault;
use crate::settings::Settings;

/// The declarations of a text and what they bring along: options `images`, `imports`, `prepare`, `entry`.
pub(crate) fn library(text: &str, settings: &Settings) -> Result<Library, Fault> {
    let mut library: Library = text.parse()?;
    for (name, bytes) in settings.files("images")? {
        let image = library.images.iter_mut().find(|image| image.name == name);
        let unknown = || Fault::value(format!("option images: there is no `image {name};`"));
        image.ok_or_else(unknown)?.bytes = Some(bytes);
    }
    library.imports = imports(settings.files("imports")?);
    library.prepare = settings.text("prepare")?.map(Prepare::new);
    library.entry = settings.text("entry")?.map(str::to_owned);
    Ok(library)
}

/// The library, importing one module per kind.
fn imports(modules: Vec<(String, Vec<u8>)>) -> Option<ImportTree<'static>> {
    let children: Vec<usize> = (1..=modules.len()).collect();
    if children.is_empty() {
        return None;
    }
    let custom = |(kind, bytes): (String, Vec<u8>)| {
        let module = Module::Custom { kind: kind.into(), bytes: bytes.into() };
        Node { module, children: Vec::new() }
    };
    let library = Node { module: Module::Library, children };
    Some(ImportTree {
        nodes: [library].into_iter().chain(modules.into_iter().map(custom)).collect(),
    })
}

/// How to lower: options `metadata` and `unchecked`, and the rest as it is.
pub(crate) fn lowering(settings: &Settings, rest: Options) -> Result<Options, Fault> {
    let metadata = settings.flag("metadata", true)?;
    Ok(Options { metadata, unchecked: unchecked(settings)?, ..rest })
}

fn unchecked(settings: &Settings) -> Result<Unchecked, Fault> {
    let mut groups = Unchecked::NONE;
    for name in settings.texts("unchecked")? {
        let group = match &*name {
            "shape" => &mut groups.shape,
            "strides" => &mut groups.strides,
            "device" => &mut groups.device,
            "alignment" => &mut groups.alignment,
            _ => {
                let known = "shape, strides, device, alignment";
                let message = format!("option unchecked: no group {name:?}, expected {known}");
                return Err(Fault::value(message));
            }
        };
        *group = true;
    }
    Ok(groups)
}
