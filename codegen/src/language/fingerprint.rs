//! Fingerprints of libraries, by which what was made of one is found again.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::declaration::{Handlers, Image, Inquiry, Library, Prepare, TorchOperators};

/// The digest of the sources that decide what is made of a library.
const STAMP: &str = env!("ROUTINES_STAMP");

/// A digest, SHA-256: equal ones are of equal bytes, put in alike. As text 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[must_use]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the digest of bytes.
    pub fn of(bytes: &[u8]) -> Fingerprint {
        Fingerprint(Sha256::digest(bytes).into())
    }

    /// Returns the digest of this one and of one more part. Several parts are told apart from their concatenation.
    pub fn with(self, part: &[u8]) -> Fingerprint {
        let digest = Sha256::new().chain_update(self.0).chain_update(part);
        Fingerprint(digest.finalize().into())
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Library {
    /// Computes a digest of the library and of this crate: of the text with documentation and source locations, the
    /// bytes of images, the import tree, `prepare`, `entry`, `system_lib`, `handlers`, `torch` and `inquiry`, and of
    /// the version and the sources of the crate and of those that it is made with, the ABI and the language of
    /// routines. It is the same in every process and on every machine, whether the crate comes from a package or a
    /// repository. What else decides about an output can be added: options by [`Fingerprint::with_options`], files to
    /// link and the like by [`Fingerprint::with`].
    ///
    /// It tells libraries apart of which something can be made. One whose [form](Library::check_form) is wrong has the
    /// fingerprint of its error, and an import tree that cannot be encoded that of an empty one, so that different
    /// libraries with the same fault have the same fingerprint.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    ///
    /// let one: Library = "f(n: int64)->int64={return n;};".parse()?;
    /// let other: Library = "f(n: int64) -> int64 = { return n; };".parse()?;
    /// assert_eq!(one.fingerprint(), other.fingerprint());
    /// assert_ne!(one.fingerprint(), other.with_entry("f").fingerprint());
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    pub fn fingerprint(&self) -> Fingerprint {
        let Library {
            functions: _,
            images,
            prepare,
            imports,
            entry,
            system_lib,
            handlers,
            torch,
            inquiry,
        } = self;
        let start = Fingerprint::of(STAMP.as_bytes());
        let start = start.with(env!("CARGO_PKG_VERSION").as_bytes());
        if let Err(error) = self.check_form() {
            // The text of such a library, of which nothing is made, may be deeper than a stack.
            return start.with(error.to_string().as_bytes());
        }
        let text = start.with(self.to_string().as_bytes());
        let bytes = |all: Fingerprint, image: &Image| optional(all, image.bytes.as_deref());
        let images = images.iter().fold(text, bytes);
        // A tree that cannot be encoded is an error of the library, of which nothing is made.
        let tree = imports.as_ref().map(|tree| tree.encode().unwrap_or_default());
        let imports = optional(images, tree.as_deref());
        let texts = [prepare.as_ref().map(Prepare::name), entry.as_deref(), system_lib.as_deref()];
        let named =
            texts.into_iter().fold(imports, |all, text| optional(all, text.map(str::as_bytes)));
        let handlers = handlers.as_ref().map(|Handlers { prefix, functions }| (prefix, functions));
        let torch = torch.as_ref();
        let torch = torch.map(|TorchOperators { namespace, functions }| (namespace, functions));
        let inquiry = inquiry.as_ref();
        let inquiry = inquiry.map(|Inquiry { function, kernels }| (function, kernels));
        [handlers, torch, inquiry].into_iter().fold(named, |all, host| {
            let all = optional(all, host.map(|(name, _)| name.as_bytes()));
            let names = host.into_iter().flat_map(|(_, names)| names).map(String::as_bytes);
            names.fold(all, Fingerprint::with)
        })
    }
}

/// Adds a part that may be missing.
fn optional(all: Fingerprint, part: Option<&[u8]>) -> Fingerprint {
    let all = all.with(&[u8::from(part.is_some())]);
    part.map_or(all, |part| all.with(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi_spec::library_bin::{ImportTree, Module, Node};

    fn tree(bytes: &'static [u8]) -> ImportTree<'static> {
        let weights = Module::Custom { kind: "weights".into(), bytes: bytes.into() };
        ImportTree {
            nodes: vec![
                Node { module: Module::Library, children: vec![1] },
                Node { module: weights, children: vec![] },
            ],
        }
    }

    /// Libraries that differ in anything have other fingerprints.
    #[test]
    fn whatever_differs_is_seen() {
        const TEXT: &str = "f(n: int64) -> int64 = { return n; };";
        let parse = |text: &str| text.parse::<Library>().unwrap();
        let image = |bytes: Option<&[u8]>| {
            let image = Image { bytes: bytes.map(<[u8]>::to_vec), ..Image::new("img") };
            parse(TEXT).with_image(image)
        };
        let all = [
            parse(TEXT),
            parse("/// Documented.\nf(n: int64) -> int64 = { return n; };"),
            parse("@\"file.py\":3\nf(n: int64) -> int64 = { return n; };"),
            parse("f(n: int64) -> int64 = { @\"file.py\":3\nreturn n; };"),
            parse("extern f(n: int64) -> int64 = { return n; };"),
            parse(""),
            parse(TEXT).with_entry("f"),
            parse(TEXT).with_system_lib("f"),
            parse(TEXT).with_system_lib(""),
            parse(TEXT).with_handlers(Handlers::new("f")),
            parse(TEXT).with_handlers(Handlers::new("f").of(["f"])),
            parse(TEXT).with_torch(TorchOperators::new("f")),
            parse(TEXT).with_torch(TorchOperators::new("f").of(["f"])),
            parse(TEXT).with_prepare("f"),
            image(None),
            image(Some(b"")),
            image(Some(b"bytes")),
            parse(TEXT).with_imports(tree(b"one")),
            parse(TEXT).with_imports(tree(b"two")),
        ];
        let mut prints: Vec<Fingerprint> = all.iter().map(Library::fingerprint).collect();
        assert!(
            all.iter().zip(&prints).all(|(library, print)| library.clone().fingerprint() == *print)
        );
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), all.len());
    }

    /// The digest is SHA-256, whose values are known.
    #[test]
    fn digests_are_those_of_the_standard() {
        let print = Fingerprint::of(b"abc").to_string();
        assert_eq!(print, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_ne!(Fingerprint::of(b"ab").with(b"c"), Fingerprint::of(b"a").with(b"bc"));
    }
}
