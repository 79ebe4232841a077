//! Which module of the old input is which of the new one.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::kernel_names;
use crate::digest::Digest;
use crate::report::ImageReport;

/// A name that so many modules have tells none of them from another.
const MOST_MODULES_OF_A_NAME: usize = 64;

/// Pairs of places in `old` and `new`, in the order of `new` with the ones that went where they stood.
///
/// First modules of the same content, then of the same kernels, then those that share most kernels, each time the first
/// with the first. What has no kernels goes by order, and so does the only one that is left on either side.
pub(super) fn pair(
    old: &[Vec<&ImageReport>],
    new: &[Vec<&ImageReport>],
) -> Vec<(Option<usize>, Option<usize>)> {
    let mut matching = Matching {
        of_old: vec![None; old.len()],
        of_new: vec![None; new.len()],
    };
    matching.by_key(old, new, content);
    matching.by_key(old, new, |module| {
        let names = names(module);
        (!names.is_empty()).then(|| listing(names.iter().map(AsRef::as_ref)))
    });
    matching.by_shared_names(old, new);
    matching.by_key(old, new, |module| {
        names(module).is_empty().then(|| Digest::of(b""))
    });
    let left = |places: &[Option<usize>]| -> Vec<usize> {
        (0..places.len()).filter(|&at| places[at].is_none()).collect()
    };
    if let ([old], [new]) = (&*left(&matching.of_old), &*left(&matching.of_new)) {
        matching.join(*old, *new);
    }
    matching.pairs()
}

struct Matching {
    of_old: Vec<Option<usize>>,
    of_new: Vec<Option<usize>>,
}

impl Matching {
    fn join(&mut self, old: usize, new: usize) {
        self.of_old[old] = Some(new);
        self.of_new[new] = Some(old);
    }

    fn by_key(
        &mut self,
        old: &[Vec<&ImageReport>],
        new: &[Vec<&ImageReport>],
        key: impl Fn(&[&ImageReport]) -> Option<Digest>,
    ) {
        let mut waiting: BTreeMap<Digest, VecDeque<usize>> = BTreeMap::new();
        for (at, module) in new
            .iter()
            .enumerate()
            .filter(|(at, _)| self.of_new[*at].is_none())
        {
            if let Some(key) = key(module) {
                waiting.entry(key).or_default().push_back(at);
            }
        }
        let unpaired: Vec<usize> = (0..old.len()).filter(|&at| self.of_old[at].is_none()).collect();
        for at in unpaired {
            let partner = key(&old[at]).and_then(|key| waiting.get_mut(&key)?.pop_front());
            if let Some(partner) = partner {
                self.join(at, partner);
            }
        }
    }

    fn by_shared_names(&mut self, old: &[Vec<&ImageReport>], new: &[Vec<&ImageReport>]) {
        let mut holders: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, module) in new
            .iter()
            .enumerate()
            .filter(|(at, _)| self.of_new[*at].is_none())
        {
            for name in names(module) {
                holders.entry(name.into_owned()).or_default().push(at);
            }
        }
        let unpaired: Vec<usize> = (0..old.len()).filter(|&at| self.of_old[at].is_none()).collect();
        for at in unpaired {
            let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
            for name in names(&old[at]) {
                let places = holders.get(&*name).map_or(&[][..], Vec::as_slice);
                if places.len() <= MOST_MODULES_OF_A_NAME {
                    for &place in places.iter().filter(|&&place| self.of_new[place].is_none()) {
                        *shared.entry(place).or_default() += 1;
                    }
                }
            }
            let best = shared
                .into_iter()
                .max_by_key(|&(place, number)| (number, std::cmp::Reverse(place)));
            if let Some((partner, _)) = best {
                self.join(at, partner);
            }
        }
    }

    fn pairs(&self) -> Vec<(Option<usize>, Option<usize>)> {
        let mut pairs = Vec::with_capacity(self.of_new.len());
        let mut gone = (0..self.of_old.len())
            .filter(|&at| self.of_old[at].is_none())
            .peekable();
        for (at, &partner) in self.of_new.iter().enumerate() {
            while let Some(old) = gone.next_if(|&old| partner.is_some_and(|partner| old < partner)) {
                pairs.push((Some(old), None));
            }
            pairs.push((partner, Some(at)));
        }
        pairs.extend(gone.map(|old| (Some(old), None)));
        pairs
    }
}

/// All that is compared of a module; nothing where some of it cannot be.
fn content(module: &[&ImageReport]) -> Option<Digest> {
    let mut lines = Vec::new();
    for image in module {
        let kind = image.kind.as_str();
        let arch = image.arch.map(|arch| arch.to_string()).unwrap_or_default();
        if let Some(text) = image.digest {
            lines.push(format!("{kind} {arch} {text}"));
        } else {
            image.kernel_count?;
            for kernel in &image.kernels {
                lines.push(format!("{kind} {arch} {} {}", kernel.name, kernel.digest?));
            }
            lines.push(format!("{kind} {arch}"));
        }
    }
    lines.sort_unstable();
    Some(listing(lines.iter().map(String::as_str)))
}

fn listing<'a>(lines: impl Iterator<Item = &'a str>) -> Digest {
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    Digest::of(&text)
}

fn names<'a>(module: &[&'a ImageReport]) -> Vec<Cow<'a, str>> {
    let mut names: Vec<Cow<'a, str>> = module
        .iter()
        .flat_map(|image| kernel_names(image))
        .map(stable_name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// `name` without the hashes that the compiler puts into names of internal linkage. They depend on where the source lay
/// and on all its text, so that such a kernel would come and go with every build.
///
/// CUDA 13 writes `_GLOBAL__N__6dd557c5_4_a_cu__…`, earlier releases `_INTERNAL_…` and `__nv_static_…`; the hashes are
/// groups of eight hexadecimal digits between underscores.
pub(super) fn stable_name(name: &str) -> Cow<'_, str> {
    const INTERNAL: [&str; 3] = ["_GLOBAL__N__", "_INTERNAL_", "__nv_static_"];
    if !INTERNAL.iter().any(|mark| name.contains(mark)) {
        return Cow::Borrowed(name);
    }
    let parts: Vec<&str> = name
        .split('_')
        .map(|part| if is_hash(part) { "*" } else { part })
        .collect();
    Cow::Owned(parts.join("_"))
}

fn is_hash(part: &str) -> bool {
    part.len() == 8
        && part
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::stable_name;

    #[test]
    fn hashes_of_the_build_are_left_out_of_internal_names() {
        for (name, expected) in [
            (
                "_ZN36_GLOBAL__N__6dd557c5_4_a_cu__Z3runPi6hiddenEPi",
                "_ZN36_GLOBAL__N__*_4_a_cu__Z3runPi6hiddenEPi",
            ),
            (
                "_ZN44_INTERNAL_0a1b2c3d_4_k_cu_9e8d7c6b_12346hiddenEPi",
                "_ZN44_INTERNAL_*_4_k_cu_*_12346hiddenEPi",
            ),
            ("_Z4statPi", "_Z4statPi"),
            ("kernel_deadbeef_x", "kernel_deadbeef_x"),
        ] {
            assert_eq!(stable_name(name), expected);
        }
    }
}
