//! The routines of commands on streams, by platform.

use crate::declaration::Platform;
use crate::lower::routines::Routine;

/// Routines of the commands of a platform.
pub(crate) struct Commands {
    pub(crate) wait: Routine,
    pub(crate) fill: Routine,
    pub(crate) copy: Routine,
    pub(crate) upload: Routine,
    pub(crate) prepare: Routine,
    pub(crate) attribute: Routine,
    pub(crate) current: Routine,
    pub(crate) global: Routine,
    pub(crate) hook: Routine,
}

impl Commands {
    pub(crate) const fn of(platform: Platform) -> Commands {
        match platform {
            Platform::Cuda => Commands {
                wait: Routine::Wait,
                fill: Routine::Fill,
                copy: Routine::Copy,
                upload: Routine::Upload,
                prepare: Routine::PrepareCommands,
                attribute: Routine::DeviceAttribute,
                current: Routine::CurrentDevice,
                global: Routine::FindGlobal,
                hook: Routine::RunHook,
            },
            Platform::Hip => Commands {
                wait: Routine::HipWait,
                fill: Routine::HipFill,
                copy: Routine::HipCopy,
                upload: Routine::HipUpload,
                prepare: Routine::HipPrepareCommands,
                attribute: Routine::HipDeviceAttribute,
                current: Routine::HipCurrentDevice,
                global: Routine::HipFindGlobal,
                hook: Routine::HipRunHook,
            },
        }
    }
}
