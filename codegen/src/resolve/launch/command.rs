//! Resolves commands on streams: addresses, sizes, streams and the device.

use abi_spec::Scalar;

use super::statement::LaunchTensors;
use super::{Command, Param, Upload, Work};
use crate::declaration::{
    Expr, Leaf, MemoryCopy, MemoryFill, ParamType, Target, Upload as Declared, Wait,
};
use crate::resolve::Explained;
use crate::resolve::argument::Argument;
use crate::resolve::body::Action;
use crate::resolve::ids::Home;
use crate::resolve::presence::absent;
use crate::resolve::statement::Block;
use crate::resolve::term::{Node, Term};

/// Size in bytes of a word of an upload, which is the unit of its size and its alignment.
const WORD: u32 = 4;

impl<'a> Block<'_, 'a> {
    pub(in crate::resolve) fn upload(&mut self, upload: &'a Declared) -> Explained<Action<'a>> {
        self.on_the_device_of(upload.target.on.as_ref(), |block| block.upload_there(upload))
    }

    pub(in crate::resolve) fn fill(&mut self, fill: &'a MemoryFill) -> Explained<Action<'a>> {
        self.on_the_device_of(fill.target.on.as_ref(), |block| block.fill_there(fill))
    }

    pub(in crate::resolve) fn copy(&mut self, copy: &'a MemoryCopy) -> Explained<Action<'a>> {
        self.on_the_device_of(copy.target.on.as_ref(), |block| block.copy_there(copy))
    }

    fn upload_there(&mut self, upload: &'a Declared) -> Explained<Action<'a>> {
        let to = self.written_address(&upload.to)?;
        let mut tensors = LaunchTensors::default();
        self.collect_data(&upload.to, &mut tensors)?;
        upload.values.iter().try_for_each(|value| self.collect(value, &mut tensors))?;
        let device = self.device(upload.target.on.as_ref(), &mut tensors)?;
        let (mut parts, mut size, mut align) = (Vec::new(), 0_u32, WORD);
        for value in &upload.values {
            let part = self.param(value, device)?;
            let at = size.next_multiple_of(part.align());
            (size, align) = (at + part.size(), align.max(part.align()));
            parts.push((at, part));
        }
        let widest =
            parts.iter().map(|(_, part): &(u32, Param<'_>)| part.align()).max().unwrap_or(1);
        size = size.next_multiple_of(widest);
        if !size.is_multiple_of(WORD) {
            return Err(format!("the values have {size} bytes, which is no multiple of {WORD}"));
        }
        let name = upload.to.to_string();
        let work = Work::Upload(Upload { to, name, parts, size, align });
        self.on_device(work, device, &upload.target, tensors)
    }

    fn fill_there(&mut self, fill: &'a MemoryFill) -> Explained<Action<'a>> {
        let to = self.written_address(&fill.to)?;
        let bytes = self.size(&fill.bytes)?;
        let value = self.field(&fill.value, Scalar::Uint8, "value of fill".to_owned())?;
        let Some((_, Argument::Term(value, _))) = value.parts.into_iter().next() else {
            return Err(format!("`{}` is not an integer", fill.value));
        };
        let mut tensors = LaunchTensors::default();
        self.collect_data(&fill.to, &mut tensors)?;
        let device = self.device(fill.target.on.as_ref(), &mut tensors)?;
        self.on_device(Work::Fill { to, bytes, value }, device, &fill.target, tensors)
    }

    fn copy_there(&mut self, copy: &'a MemoryCopy) -> Explained<Action<'a>> {
        let (to, from) = (self.written_address(&copy.to)?, self.device_address(&copy.from)?);
        let bytes = self.size(&copy.bytes)?;
        let mut tensors = LaunchTensors::default();
        self.collect_data(&copy.to, &mut tensors)?;
        self.collect_data(&copy.from, &mut tensors)?;
        let device = self.device(copy.target.on.as_ref(), &mut tensors)?;
        self.on_device(Work::Copy { to, from, bytes }, device, &copy.target, tensors)
    }

    pub(in crate::resolve) fn wait(&mut self, wait: &'a Wait) -> Explained<Action<'a>> {
        let (waiter, other) = (self.stream(&wait.waiter)?, self.stream(&wait.other)?);
        let mut tensors = LaunchTensors::default();
        for stream in [&waiter, &other] {
            if let Node::Stream(value) = stream.node {
                self.collect_tensor(Home::Value(value), &mut tensors)?;
            } else if let Node::OutputStream(output) = stream.node {
                self.collect_tensor(Home::Output(output), &mut tensors)?;
            }
        }
        let device = self.device_if_known(wait.on.as_ref(), &mut tensors)?;
        let (work, unsure) = (Work::Wait { waiter, other }, tensors.unsure);
        Ok(Action::Command(Box::new(Command { work, device, stream: None, unsure })))
    }

    fn on_device(
        &self,
        work: Work<'a>,
        device: Home,
        target: &Target,
        tensors: LaunchTensors,
    ) -> Explained<Action<'a>> {
        let stream = target.stream.as_ref().map(|stream| self.stream(stream)).transpose()?;
        let (device, unsure) = (Some(device), tensors.unsure);
        Ok(Action::Command(Box::new(Command { work, device, stream, unsure })))
    }

    /// Resolves a number of bytes; a constant is checked here, other terms when the command runs.
    fn size(&self, bytes: &Expr) -> Explained<Term> {
        let term = self.integer(bytes)?;
        match term.constant().filter(|size| *size < 0) {
            Some(size) => Err(format!("{size} is no size in bytes")),
            None => Ok(term),
        }
    }

    /// Resolves an address that the device can access.
    fn device_address(&self, expr: &Expr) -> Explained<Term> {
        let term = self.term(expr)?;
        if self.names.is_data(&term) {
            return Ok(term);
        }
        Err(format!("`{expr}` is no address on the device, as `x.data` is"))
    }

    /// Resolves an address to which a command writes.
    fn written_address(&self, expr: &Expr) -> Explained<Term> {
        let term = self.device_address(expr)?;
        if self.names.is_read(&term) {
            return Err(format!("`{expr}` is memory of a tensor that is only read"));
        }
        Ok(term)
    }

    /// Resolves a stream, which may be given as a number. That of a tensor is one of its device, so the tensor is
    /// there.
    pub(super) fn stream(&self, expr: &Expr) -> Explained<Term> {
        let term = self.term(expr)?;
        if let Node::Stream(tensor) = term.node
            && !self.is_there(tensor)
        {
            return Err(absent(&self.names.values[tensor].path));
        }
        if self.is_stream(&term) || matches!(expr, Expr::Cast(Scalar::Ptr, _)) {
            return Ok(term);
        }
        let streams = "as a parameter of type `Stream`, `stream(x)` and `ptr(n)` are";
        Err(format!("`{expr}` is no stream, {streams}"))
    }

    /// Returns true for streams.
    pub(in crate::resolve) fn is_stream(&self, term: &Term) -> bool {
        if let Node::Value(value) = term.node {
            let value = &self.names.values[value];
            return matches!(value.ty, ParamType::Leaf(Leaf::Stream)) && value.guard.is_none();
        }
        if let Node::Local(local) = term.node {
            return self.names.locals[local].is_stream;
        }
        matches!(term.node, Node::Stream(_) | Node::OutputStream(_))
    }
}
