//! Lists against each other.

use blockgate_findings::Finding;

use crate::model::ArchList;
use crate::rules::{self, noted};
use blockgate_findings::nearest;

/// What is wrong between lists: two of one name, and baselines that lead nowhere.
pub fn check_set(lists: &[ArchList]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, list) in lists.iter().enumerate() {
        if let Some(other) = lists[..index].iter().find(|other| other.name == list.name) {
            let message = format!("`{}` is the list of {} already", list.name, other.places.path);
            findings.push(list.finding(rules::VALUE, &(0..0), message));
        }
        findings.extend(baseline_problem(lists, list));
    }
    findings
}

fn baseline_problem(lists: &[ArchList], list: &ArchList) -> Option<Finding> {
    let (baseline, span) = (list.baseline.as_deref()?, list.places.baseline.as_ref()?);
    let Some(base) = by_name(lists, baseline) else {
        let names = lists.iter().map(|list| list.name.as_str());
        let found = list.finding(rules::BASELINE, span, format!("there is no list `{baseline}`"));
        return Some(match nearest(baseline, names) {
            Some(meant) => noted(found, format!("did you mean `{meant}`?")),
            None => found,
        });
    };
    let message = if leads_back(lists, list) {
        format!("the baselines of `{}` lead back to it", list.name)
    } else if base.expect_failure.is_some() {
        format!("`{baseline}` must fail to build, so nothing can be compared with it")
    } else if base.sources != list.sources {
        format!(
            "`{baseline}` builds the {}, this list the {}",
            base.sources.name(),
            list.sources.name()
        )
    } else {
        return None;
    };
    Some(list.finding(rules::BASELINE, span, message))
}

fn by_name<'a>(lists: &'a [ArchList], name: &str) -> Option<&'a ArchList> {
    lists.iter().find(|list| list.name == name)
}

/// Whether the chain of baselines from `list` comes back to it. A longer chain than there are lists goes round
/// somewhere else, which the lists there report.
fn leads_back(lists: &[ArchList], list: &ArchList) -> bool {
    let mut current = list;
    for _ in lists {
        match current.baseline.as_deref().and_then(|name| by_name(lists, name)) {
            Some(base) if base.name == list.name => return true,
            Some(base) => current = base,
            None => return false,
        }
    }
    false
}

/// The lists of those names, every baseline before what is compared with it; all lists where none is named.
/// Baselines that nobody named come along.
///
/// # Errors
/// The names that no list has.
pub fn build_order<'a>(lists: &'a [ArchList], names: &[String]) -> Result<Vec<&'a ArchList>, Vec<String>> {
    let unknown: Vec<String> = names
        .iter()
        .filter(|name| by_name(lists, name).is_none())
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let mut order: Vec<&ArchList> = Vec::new();
    for list in lists {
        if !names.is_empty() && !names.contains(&list.name) {
            continue;
        }
        let mut chain = vec![list];
        while let Some(base) = chain
            .last()
            .and_then(|last| last.baseline.as_deref())
            .and_then(|name| by_name(lists, name))
        {
            if chain.iter().any(|link| link.name == base.name) {
                break;
            }
            chain.push(base);
        }
        for link in chain.into_iter().rev() {
            if !order.iter().any(|earlier| earlier.name == link.name) {
                order.push(link);
            }
        }
    }
    Ok(order)
}
