//! The five exit codes that every command of the project uses.

use crate::Severity;

/// How a command ends. Where several apply, the worst wins; [`ExitStatus::and`] combines.
///
/// The order of badness is internal error, usage, unreadable input, failed check: a result that rests on
/// an input that could not be read must not look like an ordinary verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum ExitStatus {
    /// 0: everything that was asked was checked, and nothing of severity error was found.
    #[default]
    Clean,
    /// 1: a finding of severity error, or a failed expectation.
    Failed,
    /// 2: the command line or a configuration file is wrong.
    Usage,
    /// 3: an input could not be read or checked.
    Unreadable,
    /// 4: a fault of our own.
    Internal,
}

impl ExitStatus {
    /// The process exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreadable => 3,
            Self::Internal => 4,
        }
    }

    /// The worse of two: the first of 4, 2, 3, 1 that applies.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        if self.badness() >= other.badness() {
            self
        } else {
            other
        }
    }

    /// What one finding amounts to. `strict` counts warnings as errors.
    pub const fn of(severity: Severity, strict: bool) -> Self {
        match (severity, strict) {
            (Severity::Error, _) | (Severity::Warning, true) => Self::Failed,
            _ => Self::Clean,
        }
    }

    const fn badness(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Failed => 1,
            Self::Unreadable => 2,
            Self::Usage => 3,
            Self::Internal => 4,
        }
    }
}

impl From<ExitStatus> for std::process::ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

#[cfg(test)]
mod tests {
    use super::ExitStatus::{Clean, Failed, Internal, Unreadable, Usage};

    #[test]
    fn the_first_of_4_2_3_1_wins() {
        assert_eq!(Clean.and(Failed), Failed);
        assert_eq!(Failed.and(Unreadable), Unreadable);
        assert_eq!(Unreadable.and(Failed), Unreadable);
        assert_eq!(Unreadable.and(Usage), Usage);
        assert_eq!(Usage.and(Internal), Internal);
        assert_eq!(Clean.and(Clean).code(), 0);
    }
}
