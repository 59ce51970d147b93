//! Parser of callgrind's dumps: lines of costs by function and instruction, calls, jumps, and a line of totals.

#[cfg(test)]
mod tests;

/// Counts of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Executed instructions.
    pub instructions: u64,
    /// Executed conditional branches.
    pub branches: u64,
    /// Taken conditional branches and unconditional jumps, without calls and returns; none if they were not counted.
    pub taken: Option<u64>,
}

impl Counts {
    /// Divides the counts by a number of repetitions, rounding up.
    pub(super) fn each(self, times: u64) -> Counts {
        Counts {
            instructions: self.instructions.div_ceil(times),
            branches: self.branches.div_ceil(times),
            taken: self.taken.map(|taken| taken.div_ceil(times)),
        }
    }

    /// Reads a line of the baseline of `tests/guard`: the name of a measure, instructions and branches.
    pub fn measure(line: &str) -> Option<(&str, Counts)> {
        let (line, branches) = line.rsplit_once(' ')?;
        let (name, instructions) = line.trim_end().rsplit_once(' ')?;
        let [instructions, branches] = [instructions, branches].map(|count| count.parse().ok());
        let counts = Counts { instructions: instructions?, branches: branches?, taken: None };
        Some((name.trim(), counts))
    }

    /// Reads the totals of a dump, without the own costs of the function named `caller`.
    pub(super) fn read(dump: &str, caller: Option<&str>, taken: bool) -> Result<Counts, String> {
        let mut reader = Reader::default();
        dump.lines().for_each(|line| reader.line(line, caller));
        let total = reader.total.filter(|total| total[0] > 0).ok_or("no total")?;
        let [instructions, branches] = [0, 1].map(|event| total[event] - reader.own[event]);
        Ok(Counts { instructions, branches, taken: taken.then_some(reader.taken) })
    }
}

/// The first two events of branch simulation: instructions and conditional branches.
type Events = [u64; 2];

/// State of the parser after some lines.
#[derive(Debug, Default)]
struct Reader {
    /// Number of words of a line that tell a position in the program.
    places: usize,
    is_caller: bool,
    /// True if the line belongs to the previous one: position and cost of a call, position of a jump.
    is_second: bool,
    own: Events,
    taken: u64,
    total: Option<Events>,
}

impl Reader {
    fn line(&mut self, line: &str, caller: Option<&str>) {
        if std::mem::take(&mut self.is_second) {
            return;
        }
        if let Some(places) = line.strip_prefix("positions: ") {
            self.places = places.split_whitespace().count();
        } else if let Some(name) = line.strip_prefix("fn=") {
            self.is_caller = Some(name) == caller;
        } else if line.starts_with("calls=") {
            self.is_second = true;
        } else if let Some(jump) = line.strip_prefix("jump=").or_else(|| line.strip_prefix("jcnd="))
        {
            self.is_second = true;
            // A conditional jump has two numbers: how often it was taken and how often it was executed.
            let end = jump.find(|c: char| !c.is_ascii_digit()).unwrap_or(jump.len());
            self.taken += if self.is_caller { 0 } else { number(&jump[..end]) };
        } else if let Some(total) = line.strip_prefix("totals: ") {
            self.total = Some(events(total.split_whitespace()));
        } else if self.is_caller && line.starts_with(|c: char| c.is_ascii_digit()) {
            let costs = events(line.split_whitespace().skip(self.places));
            self.own.iter_mut().zip(costs).for_each(|(own, cost)| *own += cost);
        }
    }
}

/// Numbers that are missing at the end of a line are zero.
fn events<'a>(mut words: impl Iterator<Item = &'a str>) -> Events {
    std::array::from_fn(|_| words.next().map_or(0, number))
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error}"))
}
