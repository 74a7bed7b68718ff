//! How well agents do: for each profile, model and kind of dispatch, what landed at the first try, what had to be fixed, how long it
//! took and what it cost.

use crate::dispatch::{Dispatch, DispatchState};
use crate::ids::BriefId;
use crate::readiness::DispatchKind;
use std::collections::BTreeMap;

/// A dispatch on which agents of flower worked.
#[derive(Clone, Debug)]
pub struct Worked<'a> {
    pub dispatch: &'a Dispatch,
    pub profile: String,
    /// The model as the session reported it; absent if it is not known.
    pub model: Option<String>,
    /// How long its agents ran.
    pub seconds: Option<u64>,
    /// In millionths; absent if no agent reported it.
    pub cost: Option<u64>,
    pub currency: Option<String>,
    pub tokens: Option<u64>,
}

/// One line of the scorecard. Figures that no agent reported are absent, not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    pub profile: String,
    pub model: Option<String>,
    pub kind: DispatchKind,
    /// Dispatches that have ended, without those that were cancelled.
    pub ended: u64,
    pub landed: u64,
    /// Landed without a `fix` between the dispatch and the landing.
    pub first_try: u64,
    /// The `fix` dispatches that followed until the work landed or was given up.
    pub fixes: u64,
    pub failed: u64,
    /// The mean of the dispatches whose time is known.
    pub seconds: Option<u64>,
    /// All cost divided by the landings; absent without a landing, or if the cost of a dispatch is not known.
    pub cost_per_landing: Option<u64>,
    pub currency: Option<String>,
    pub tokens: Option<u64>,
}

/// Scores by profile, model and kind. `fixes` are all `fix` dispatches of the same projects.
pub fn scorecard(worked: &[Worked<'_>], fixes: &[&Dispatch]) -> Vec<Score> {
    let mut by_brief: BTreeMap<BriefId, Vec<&Dispatch>> = BTreeMap::new();
    for fix in fixes {
        by_brief.entry(fix.brief).or_default().push(fix);
    }
    let mut groups: BTreeMap<(&str, Option<&str>, &'static str), Vec<&Worked<'_>>> = BTreeMap::new();
    for one in worked.iter().filter(|one| has_ended(one.dispatch)) {
        let key = (one.profile.as_str(), one.model.as_deref(), one.dispatch.kind.as_str());
        groups.entry(key).or_default().push(one);
    }
    groups.into_values().filter_map(|group| score(&group, &by_brief)).collect()
}

/// Handed back is not the end: whether it lands is not known yet. Work without code ends there.
fn has_ended(dispatch: &Dispatch) -> bool {
    let without_code = dispatch.result.as_ref().is_some_and(|result| result.commits.is_empty());
    match dispatch.state {
        DispatchState::Landed | DispatchState::Failed => true,
        DispatchState::HandedBack => without_code,
        DispatchState::Requested | DispatchState::Claimed | DispatchState::Executing | DispatchState::Cancelled => {
            false
        }
    }
}

fn score(group: &[&Worked<'_>], fixes: &BTreeMap<BriefId, Vec<&Dispatch>>) -> Option<Score> {
    let first = group.first()?;
    let count = |is_so: &dyn Fn(&Worked<'_>) -> bool| group.iter().filter(|one| is_so(one)).count() as u64;
    let fixes_of = |one: &Worked<'_>| {
        let all = fixes.get(&one.dispatch.brief).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(|fix| follows(fix, one.dispatch)).count() as u64
    };
    let is_landed = |one: &Worked<'_>| one.dispatch.state == DispatchState::Landed;
    let landed = count(&is_landed);
    let times: Vec<u64> = group.iter().filter_map(|one| one.seconds).collect();
    let costs: Option<u64> = group.iter().map(|one| one.cost).sum();
    let tokens = group.iter().filter_map(|one| one.tokens).reduce(u64::saturating_add);
    Some(Score {
        profile: first.profile.clone(),
        model: first.model.clone(),
        kind: first.dispatch.kind,
        ended: group.len() as u64,
        landed,
        first_try: count(&|one| is_landed(one) && fixes_of(one) == 0),
        fixes: group.iter().map(|one| fixes_of(one)).sum(),
        failed: count(&|one| one.dispatch.state == DispatchState::Failed),
        seconds: times.iter().sum::<u64>().checked_div(times.len() as u64),
        cost_per_landing: costs.and_then(|cost| cost.checked_div(landed)),
        currency: group.iter().find_map(|one| one.currency.clone()),
        tokens,
    })
}

/// Whether a `fix` repairs the work of a dispatch: it was requested after it, and before that work was in MAIN.
fn follows(fix: &Dispatch, dispatch: &Dispatch) -> bool {
    let before_the_end = match (dispatch.state, &dispatch.ended_at) {
        (DispatchState::Landed | DispatchState::Failed, Some(ended)) => fix.requested_at < *ended,
        _ => true,
    };
    fix.number > dispatch.number && before_the_end
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn dispatch(number: u64, brief: u64, kind: &str, state: &str, requested: &str, ended: &str) -> Dispatch {
        serde_json::from_value(json!({
            "number": number, "brief": brief, "kind": kind, "state": state, "spec_version": 1, "project": "web",
            "worktree": "w", "profile": "claude", "agents": 1, "of": null, "evidence": null, "fence": 1, "claim": null,
            "packets": [], "runs": [], "base": null, "by": "ada", "requested_at": requested, "ended_at": ended,
            "result": { "summary": "", "not_done": null, "tip": null, "commits": ["c"] }
        }))
        .expect("a dispatch")
    }

    fn worked<'a>(dispatch: &'a Dispatch, model: Option<&str>, cost: Option<u64>) -> Worked<'a> {
        Worked {
            dispatch,
            profile: "claude".to_owned(),
            model: model.map(str::to_owned),
            seconds: Some(60 * dispatch.number.0),
            cost,
            currency: cost.map(|_| "USD".to_owned()),
            tokens: None,
        }
    }

    #[test]
    fn a_fix_before_the_landing_is_no_first_try_and_one_after_a_revert_is() {
        let all = [
            dispatch(1, 1, "build", "landed", "t01", "t02"),
            // Rejected, and mended by 3.
            dispatch(2, 2, "build", "landed", "t03", "t08"),
            dispatch(3, 2, "fix", "landed", "t06", "t08"),
            // What landed was reverted by the operator, who asked for a fix.
            dispatch(4, 1, "fix", "failed", "t09", "t10"),
            dispatch(5, 3, "build", "failed", "t11", "t12"),
            dispatch(6, 4, "build", "cancelled", "t11", "t12"),
            dispatch(7, 5, "build", "handed_back", "t11", "t12"),
        ];
        let fixes: Vec<&Dispatch> = all.iter().filter(|one| one.kind == DispatchKind::Fix).collect();
        let worked: Vec<Worked<'_>> = all.iter().map(|one| worked(one, None, Some(1_000_000))).collect();
        let card = scorecard(&worked, &fixes);
        assert_eq!(card.len(), 2, "{card:?}");
        let build = &card[0];
        assert_eq!((build.kind, build.ended, build.landed), (DispatchKind::Build, 3, 2));
        assert_eq!((build.first_try, build.fixes, build.failed), (1, 1, 1));
        assert_eq!((build.seconds, build.cost_per_landing), (Some(160), Some(1_500_000)));
        assert_eq!((card[1].kind, card[1].ended, card[1].landed, card[1].failed), (DispatchKind::Fix, 2, 1, 1));
    }

    #[test]
    fn what_is_not_reported_is_unknown_and_models_are_apart() {
        let all = [1, 2, 3].map(|n| dispatch(n, n, "build", "landed", "t01", "t02"));
        let worked = [
            worked(&all[0], Some("opus"), Some(4)),
            worked(&all[1], Some("opus"), None),
            worked(&all[2], None, Some(6)),
        ];
        let card = scorecard(&worked, &[]);
        let cost =
            |model: Option<&str>| card.iter().find(|one| one.model.as_deref() == model).map(|one| one.cost_per_landing);
        assert_eq!((cost(Some("opus")), cost(None)), (Some(None), Some(Some(6))));
        assert!(scorecard(&[], &[]).is_empty());
    }
}
