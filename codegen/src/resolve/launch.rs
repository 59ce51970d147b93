//! Launches of GPU kernels: resolved launches, their checks, and the images of a library.

mod command;
pub(crate) mod held;
pub(super) mod images;
pub(crate) mod map;
pub(super) mod platform;
mod statement;
mod well_formed;

use super::argument::Argument;
use super::ids::Home;
use super::ids::{MapId, OutputId, ValueId};
use super::term::Term;
use crate::declaration::{self, MapType};

/// A resolved launch of a GPU kernel.
#[derive(Clone, Debug)]
pub(crate) struct Launch<'a> {
    /// Name of the image.
    pub(crate) image: &'a str,
    /// Name of the function that is called after the image is loaded.
    pub(crate) on_load: Option<&'a str>,
    /// Name of the GPU kernel.
    pub(crate) gpu_kernel: &'a str,
    /// Extents of grid and block, x first, then the bytes of dynamic shared memory: the first seven `uint32` of a
    /// `CUlaunchConfig`.
    pub(crate) extents: Packing,
    /// Attributes, in order: `CUlaunchAttributeID` and value.
    pub(crate) attributes: Vec<(u32, Packing)>,
    /// Arguments, one for each parameter of the GPU kernel.
    pub(crate) params: Vec<Param<'a>>,
    /// Tensor on whose device the GPU kernel runs.
    pub(crate) device: Home,
    /// Stream; `None` for the environment's stream of the device.
    pub(crate) stream: Option<Term>,
    /// Tensors declared for any device, each once: only the call determines whether they are on a GPU.
    pub(crate) unsure: Vec<ValueId>,
    /// True if all blocks run at once; where that is an attribute, it is one of `attributes` instead.
    pub(crate) cooperative: bool,
    /// Permissions that the GPU kernel needs, set once for each device.
    pub(crate) allowed: Allowed,
}

/// Number of extents of a grid.
const GRID: usize = 3;

impl Launch<'_> {
    /// Returns the extents of the grid, with their byte offsets in the config.
    pub(crate) fn grid(&self) -> &[(u32, Argument)] {
        &self.extents.parts[..GRID]
    }

    /// Returns true if the grid is empty in every call.
    pub(crate) fn is_empty(&self) -> bool {
        self.grid().iter().any(|(_, extent)| extent.constant() == Some(0))
    }

    /// Returns the scratch memory that the launch allocates.
    pub(crate) fn scratches(&self) -> impl Iterator<Item = OutputId> {
        self.params.iter().filter_map(|param| match param {
            Param::Scratch(output) => Some(*output),
            Param::Packed(_) | Param::TensorMap(_) | Param::Map(_) | Param::Bytes(_) => None,
        })
    }

    /// Returns the size of each parameter in bytes.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        self.params.iter().map(Param::size).collect()
    }
}

/// A resolved command on a stream.
#[derive(Clone, Debug)]
pub(crate) struct Command<'a> {
    pub(crate) work: Work<'a>,
    /// Tensor on whose device the command runs; `None` for a wait whose streams are not known to belong to one.
    pub(crate) device: Option<Home>,
    /// Stream; `None` for the environment's stream of the device. A wait has none.
    pub(crate) stream: Option<Term>,
    /// Tensors declared for any device, each once: only the call determines whether they are on a GPU.
    pub(crate) unsure: Vec<ValueId>,
}

/// Work of a command. Addresses and streams are terms of kind `Ptr`, sizes of kind `Int`.
#[derive(Clone, Debug)]
pub(crate) enum Work<'a> {
    /// Writes a struct to an address.
    Upload(Upload<'a>),
    /// Sets `bytes` bytes at an address to a value, which is a `uint8`.
    Fill { to: Term, bytes: Term, value: Term },
    /// Copies `bytes` bytes.
    Copy { to: Term, from: Term, bytes: Term },
    /// Makes the first stream wait for the second.
    Wait { waiter: Term, other: Term },
}

/// A struct to upload.
#[derive(Clone, Debug)]
pub(crate) struct Upload<'a> {
    pub(crate) to: Term,
    /// Spelling of the address in errors.
    pub(crate) name: String,
    /// Parts of the struct with their byte offsets: scalars and tensor maps.
    pub(crate) parts: Vec<(u32, Param<'a>)>,
    /// Size in bytes, a multiple of 4.
    pub(crate) size: u32,
    /// Alignment of the address in bytes, a power of two from 4 on.
    pub(crate) align: u32,
}

impl Upload<'_> {
    /// Returns true if bytes of the struct belong to no part.
    pub(crate) fn has_gaps(&self) -> bool {
        let bytes = self.parts.iter().map(|(_, part)| part.size()).sum::<u32>();
        bytes != self.size
    }
}

/// Bytes of a `CUtensorMap`.
pub(crate) const MAP_SIZE: u32 = 128;

/// Alignment of a `CUtensorMap` in bytes: 64 up to 12.9, 128 from 13.0 on.
pub(crate) const MAP_ALIGN: u32 = 128;

/// Permissions that a GPU kernel needs from the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Dynamic shared memory. Static shared memory is unknown here, and both together may exceed 48 KiB.
    pub(crate) shared: bool,
    /// Clusters of more than [`PLAIN_CLUSTER`] blocks.
    pub(crate) cluster: bool,
}

/// Largest number of blocks in a cluster that every device supports.
pub(crate) const PLAIN_CLUSTER: i64 = 8;

/// Argument of a GPU kernel.
#[derive(Clone, Debug)]
pub(crate) enum Param<'a> {
    /// Scalars with C layout.
    Packed(Packing),
    /// Address of memory that is allocated for the launch.
    Scratch(OutputId),
    /// A `CUtensorMap` that is made for the launch.
    TensorMap(Box<TensorMap<'a>>),
    /// A `CUtensorMap` that the body has named.
    Map(MapId),
    /// Bytes of a tensor on the cpu, which the driver copies from there.
    Bytes(Box<Bytes>),
}

/// Bytes of a tensor as an argument.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    /// Address of the first byte.
    pub(crate) address: Term,
    /// Number of bytes.
    pub(crate) size: u32,
    /// Number of elements of the tensor.
    pub(crate) numel: Term,
    /// Number of elements that have so many bytes.
    pub(crate) least: i64,
    /// Spelling of the number of elements in errors.
    pub(crate) name: String,
}

impl Param<'_> {
    /// Returns the size in bytes.
    pub(crate) fn size(&self) -> u32 {
        match self {
            Param::Packed(packing) => packing.size,
            Param::Scratch(_) => 8,
            Param::TensorMap(_) | Param::Map(_) => MAP_SIZE,
            Param::Bytes(bytes) => bytes.size,
        }
    }

    /// Returns the alignment on the device in bytes; 1 where only the kernel knows it.
    pub(crate) fn align(&self) -> u32 {
        match self {
            Param::Packed(packing) => packing.align,
            Param::Scratch(_) => 8,
            Param::TensorMap(_) | Param::Map(_) => MAP_ALIGN,
            Param::Bytes(_) => 1,
        }
    }
}

/// A resolved tensor map.
#[derive(Clone, Debug)]
pub(crate) struct TensorMap<'a> {
    /// Declaration, for its options.
    pub(crate) declared: &'a declaration::TensorMap,
    /// Spelling of the tensor in errors.
    pub(crate) name: String,
    pub(crate) element: MapElement,
    /// Bytes of which the address and the strides are multiples.
    pub(crate) unit: u32,
    /// Address of the first element of the tensor.
    pub(crate) address: Term,
    /// Bytes from there to the first element of the map.
    pub(crate) offset: Option<Term>,
    /// Dims, strides, the numbers of the mode, and the distances between elements or pixels. All but the mode have one
    /// number for each dim, in the order of the tensor's dims. The mode has the extents of a box, or the lower and
    /// upper offsets for each spatial dim, channels and pixels.
    pub(crate) numbers: Vec<Term>,
    /// Terms without constants, which determine the address and all numbers.
    pub(crate) inputs: Vec<Term>,
}

/// Scalars in memory with the layout of a C struct.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    /// Size in bytes, a multiple of the alignment.
    pub(crate) size: u32,
    /// Alignment in bytes, a power of two.
    pub(crate) align: u32,
    /// Scalars with their byte offsets.
    pub(crate) parts: Vec<(u32, Argument)>,
}

impl Packing {
    /// Builds an empty struct.
    pub(crate) fn new() -> Packing {
        Packing { size: 0, align: 1, parts: Vec::new() }
    }

    /// Builds a struct of one scalar.
    pub(crate) fn scalar(argument: Argument, bytes: u32) -> Packing {
        Packing { size: bytes, align: bytes, parts: vec![(0, argument)] }
    }

    /// Lays out fields one after the other, each at the next multiple of its alignment.
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
    pub(crate) ty: MapType,
    /// Size in bits.
    pub(crate) bits: u32,
}
