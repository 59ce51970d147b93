//! A launch with its meaning.

pub(super) mod images;
mod statement;
mod well_formed;

use super::function::{Argument, Home};
use super::ids::{OutputId, ValueId};
use super::term::Term;
use crate::declaration;

/// A launch of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch<'a> {
    /// The name of the image.
    pub(crate) image: &'a str,
    /// The name of the GPU kernel in it.
    pub(crate) gpu_kernel: &'a str,
    /// The extents of grid and block, x first, and the bytes of dynamic shared memory: `uint32` each.
    pub(crate) extents: Packing,
    /// In order: the number of each, and its value.
    pub(crate) attributes: Vec<(u32, Packing)>,
    /// What the kernel is given.
    pub(crate) params: Vec<Param<'a>>,
    /// A tensor on the device where it runs.
    pub(crate) device: Home,
    /// The tensors of which only the call knows whether they are on a GPU, each once.
    pub(crate) unsure: Vec<ValueId>,
    /// What must be allowed once for each device.
    pub(crate) allowed: Allowed,
}

impl Launch<'_> {
    /// What is allocated for it.
    pub(crate) fn scratches(&self) -> impl Iterator<Item = OutputId> {
        self.params.iter().filter_map(|param| match param {
            Param::Scratch(output) => Some(*output),
            Param::Packed(_) | Param::TensorMap(_) => None,
        })
    }

    /// The bytes of each parameter of the kernel.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let size = |param: &Param<'_>| match param {
            Param::Packed(packing) => packing.size,
            Param::Scratch(_) => 8,
            Param::TensorMap(_) => MAP_SIZE,
        };
        self.params.iter().map(size).collect()
    }
}

/// Bytes of a `CUtensorMap`.
pub(crate) const MAP_SIZE: u32 = 128;

/// What a kernel may do only once it is allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Have dynamic shared memory: with its static memory, which nobody knows here, it may exceed 48 KiB.
    pub(crate) shared: bool,
    /// Run in clusters of more than [`PLAIN_CLUSTER`] blocks.
    pub(crate) cluster: bool,
}

/// Blocks of a cluster that every device offers.
pub(crate) const PLAIN_CLUSTER: i64 = 8;

/// What a parameter of a kernel is given.
#[derive(Clone, Debug)]
pub(crate) enum Param<'a> {
    /// Scalars.
    Packed(Packing),
    /// The address of memory that is allocated for the launch.
    Scratch(OutputId),
    /// What the driver makes of a tensor.
    TensorMap(TensorMap<'a>),
}

/// How a kernel sees a tensor.
#[derive(Clone, Debug)]
pub(crate) struct TensorMap<'a> {
    /// The declaration, for its options.
    pub(crate) declared: &'a declaration::TensorMap,
    /// How messages call the tensor.
    pub(crate) name: String,
    /// The tensor.
    pub(crate) tensor: Home,
    /// Its elements.
    pub(crate) element: MapElement,
    /// The extents of a box, then the steps, in the order of the tensor's dims.
    pub(crate) numbers: Vec<Term>,
}

/// Scalars in memory, as C lays them out in a struct.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    /// In bytes, a multiple of the alignment.
    pub(crate) size: u32,
    /// In bytes, a power of two.
    pub(crate) align: u32,
    /// Each scalar, and where it is.
    pub(crate) parts: Vec<(u32, Argument)>,
}

impl Packing {
    /// Nothing so far.
    pub(crate) fn new() -> Packing {
        Packing { size: 0, align: 1, parts: Vec::new() }
    }

    /// One scalar of so many bytes.
    pub(crate) fn scalar(argument: Argument, bytes: u32) -> Packing {
        Packing { size: bytes, align: bytes, parts: vec![(0, argument)] }
    }

    /// Fields behind each other, each where its alignment puts it.
    pub(crate) fn of(fields: impl IntoIterator<Item = Packing>) -> Packing {
        let mut whole = Packing::new();
        for field in fields {
            let start = whole.size.next_multiple_of(field.align);
            whole.parts.extend(field.parts.into_iter().map(|(at, part)| (start + at, part)));
            whole.size = start + field.size;
            whole.align = whole.align.max(field.align);
        }
        whole.size = whole.size.next_multiple_of(whole.align);
        whole
    }
}

/// Element type of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapElement {
    /// `CUtensorMapDataType`.
    pub(crate) number: u32,
    /// Size in bytes.
    pub(crate) bytes: u32,
}
