//! Which images belong to one module: one fat binary, of which the driver takes one image.

use crate::report::ImageReport;

/// The counted images of `images`, which are in file order, in groups of one module each.
///
/// A module is a region: of a member, a section or the file. Members may share their name, so that a region ends where the
/// running number of its images starts again, too. A cubin or PTX text that stands alone is a module of its own.
pub(crate) fn modules<'a>(images: impl IntoIterator<Item = &'a ImageReport>) -> Vec<Vec<&'a ImageReport>> {
    let mut modules: Vec<Vec<&ImageReport>> = Vec::new();
    for image in images.into_iter().filter(|image| image.counted) {
        match modules.last_mut() {
            Some(module) if module.last().is_some_and(|last| continues(last, image)) => module.push(image),
            _ => modules.push(vec![image]),
        }
    }
    modules
}

fn continues(last: &ImageReport, image: &ImageReport) -> bool {
    image.entry > last.entry
        && last.section == image.section
        && last.region == image.region
        && last.member == image.member
        && last.file == image.file
}
