//! Checks of images and of the launches of a library against them, and the body that prepares launches.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Launch;
use crate::declaration::limit::Limit;
use crate::declaration::reserved::is_callee;
use crate::declaration::{
    Body, Expr, Global, GlobalFacts, GpuKernelFacts, Image, ImageKind, Library, Platform,
    Statement, StatementKind, is_identifier, is_whole,
};
use crate::error::{Error, Part};
use crate::resolve::body::{self, Prepare};
use crate::resolve::callees::nth_statement;
use crate::resolve::function::Function;
use crate::resolve::ids::Id;

/// Checks that images have names of their own, and bytes of a format that the driver loads.
pub(in crate::resolve) fn check(library: &Library) -> Result<(), Error> {
    if library.images.len() > Limit::Images.max() {
        return Err(Error::excess(Limit::Images));
    }
    let mut names = FxHashSet::default();
    for (index, Image { name, bytes, on_load }) in library.images.iter().enumerate() {
        if !is_identifier(name) || name.len() > Limit::Name.max() {
            return Err(invalid(library, index, "the name is not an identifier"));
        }
        if !names.insert(&name[..]) {
            return Err(invalid(library, index, "an earlier image has this name"));
        }
        let is_wrong = |name: &String| !is_callee(name) || name.len() > Limit::Name.max();
        if on_load.as_ref().is_some_and(is_wrong) {
            return Err(invalid(library, index, "`on load` has the name of no function"));
        }
        let Some(bytes) = bytes else { continue };
        let Some(kind) = ImageKind::of(bytes) else {
            let reason = "these bytes are no cubin, fatbin, PTX, hsaco or offload bundle, as their header says";
            return Err(invalid(library, index, reason));
        };
        if !is_whole(bytes, kind) {
            return Err(invalid(library, index, "these bytes end before the image does"));
        }
    }
    Ok(())
}

/// Builds the error about an image.
pub(in crate::resolve) fn invalid(library: &Library, index: usize, reason: &str) -> Error {
    let name = library.images[index].name.clone();
    Error::Image { index, name, reason: reason.to_owned(), position: None }
}

/// Sets the body of the last function, which prepares launches.
pub(in crate::resolve) fn prepare<'a>(
    functions: &mut [Function<'a>],
    platform: Platform,
    launches: Vec<Launch<'a>>,
) {
    let mut seen = FxHashSet::default();
    let mut callees: Vec<&str> = functions.iter().flat_map(Function::callees).collect();
    callees.retain(|name| seen.insert(*name));
    let commands = functions.iter().any(Function::has_commands);
    let mut attributes: Vec<u32> = functions.iter().flat_map(Function::device_attributes).collect();
    attributes.sort_unstable();
    attributes.dedup();
    let mut known = FxHashSet::default();
    let mut globals: Vec<_> = functions.iter().flat_map(Function::globals).collect();
    globals.retain(|(image, global)| known.insert((image.name, &global.name)));
    if let Some(function) = functions.last_mut() {
        let prepare = Prepare {
            platform,
            device: Id::new(0),
            launches,
            globals,
            attributes,
            commands,
            callees,
        };
        function.body = body::Body::Prepare(Box::new(prepare));
    }
}

/// Returns the platform of all functions that use a driver; CUDA if none does.
pub(in crate::resolve) fn platform(
    library: &Library,
    functions: &[Function<'_>],
) -> Result<Platform, Error> {
    let mut all = functions.iter().enumerate().filter(|(_, function)| function.uses_driver());
    let Some((_, first)) = all.next() else { return Ok(Platform::Cuda) };
    let Some((index, other)) = all.find(|(_, function)| function.platform != first.platform) else {
        return Ok(first.platform);
    };
    let reason = format!(
        "`prepare` is for one platform, but this function launches on {} and an earlier one on {}",
        other.platform.device_type(),
        first.platform.device_type()
    );
    Err(Error::invalid(index, &library.functions[index], Part::Name, reason))
}

/// Returns the first launch of each GPU kernel, and checks that all its launches and its image agree on the sizes of
/// its parameters.
pub(in crate::resolve) fn launches<'a>(
    library: &Library,
    functions: &[Function<'a>],
) -> Result<Vec<Launch<'a>>, Error> {
    let (mut first, mut known) = (Vec::new(), FxHashMap::default());
    for (index, function) in functions.iter().enumerate() {
        for (count, launch) in function.launches().into_iter().enumerate() {
            let (name, sizes) = ((launch.image, launch.gpu_kernel), launch.sizes());
            let wrong = match known.get(&name) {
                None => against_image(library, launch, &sizes),
                Some(earlier) if *earlier == sizes => None,
                Some(earlier) => Some(format!(
                    "`{}` is launched with parameters of {sizes:?} bytes, but earlier of {earlier:?}",
                    launch.gpu_kernel
                )),
            };
            if let Some(reason) = wrong {
                let declared = &library.functions[index];
                let part = nth_statement(&declared.body, count, |action| {
                    matches!(action, StatementKind::Launch(_))
                });
                return Err(Error::invalid(index, declared, part, reason));
            }
            if known.insert(name, sizes).is_none() {
                first.push(launch.clone());
            }
        }
    }
    Ok(first)
}

/// Checks that images that can be read have the device variables that functions use.
pub(in crate::resolve) fn globals(
    library: &Library,
    functions: &[Function<'_>],
) -> Result<(), Error> {
    if library.images.is_empty() {
        return Ok(());
    }
    for (index, (function, declared)) in functions.iter().zip(&library.functions).enumerate() {
        for (image, global) in function.globals() {
            let mut images = library.images.iter();
            let Some(image) = images.find(|known| known.name == image.name) else { continue };
            let GlobalFacts::Missing(known) = image.global(&global.name) else { continue };
            let known = listed(&known);
            let (image, name) = (&image.name, &global.name);
            let reason = format!("image `{image}` has no variable `{name}`: it has {known}");
            let part = part_of(&declared.body, global);
            return Err(Error::invalid(index, declared, part, reason));
        }
    }
    Ok(())
}

/// Returns the part of a body whose expressions have a device variable.
fn part_of(body: &Body, global: &Global) -> Part {
    let has = |expr: &Expr| {
        let mut all = Vec::new();
        expr.globals(&mut all);
        all.contains(&global)
    };
    match body {
        Body::Call(call) => call.args.iter().position(has).map_or(Part::Callee, Part::Argument),
        Body::Block(_) => {
            let has = |statement: &Statement| statement.kind.exprs().into_iter().any(has);
            Part::Statement(body.statements().position(has).unwrap_or_default())
        }
    }
}

/// Spells names of an image in an error.
fn listed(names: &[String]) -> String {
    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Compares a launch with its image, if the image can be read. Reports, in this order, a missing GPU kernel, a wrong
/// number of parameters, and the first parameter of another size.
fn against_image(library: &Library, launch: &Launch<'_>, given: &[u32]) -> Option<String> {
    let Launch { image, gpu_kernel, .. } = launch;
    let sizes =
        match library.images.iter().find(|known| known.name == *image)?.gpu_kernel(gpu_kernel) {
            GpuKernelFacts::Unknown => return None,
            GpuKernelFacts::Missing(known) => {
                let known = listed(&known);
                return Some(format!(
                    "image `{image}` has no kernel `{gpu_kernel}`: it has {known}"
                ));
            }
            GpuKernelFacts::Sizes(sizes) => sizes,
        };
    if sizes.len() != given.len() {
        return Some(format!(
            "`{gpu_kernel}` is launched with {} parameters, but in image `{image}` it has {}, of {sizes:?} bytes",
            given.len(),
            sizes.len()
        ));
    }
    let (at, (size, given)) =
        sizes.iter().zip(given).enumerate().find(|(_, (size, given))| size != given)?;
    Some(format!(
        "parameter #{at} of `{gpu_kernel}` is given {given} bytes, but in image `{image}` it has {size}"
    ))
}
