//! What agents have spent, as far as they report it, and the limits.

use super::config::{Config, Reported, Spend};
use crate::Profiles;
use flower_contract::error::Problem;
use flower_contract::view::{SpendView, SpentView};
use flower_core::BriefId;
use flower_store::agents::{self, Spent, SpentOn};

/// Maximum days and briefs in the list.
const MAX_LISTED: u64 = 31;

/// Millionths as an amount.
pub(crate) fn amount(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

impl Profiles {
    /// The spending limit that is reached, in words. None if agents may start.
    pub(super) async fn spend_limit(&self, spend: &Spend, brief: BriefId) -> Result<Option<String>, Problem> {
        if *spend == Spend::default() {
            return Ok(None);
        }
        let today = crate::now()[..10].to_owned();
        let read = self.store.read(move |conn| {
            Ok((agents::spent(conn, SpentOn::Day(&today))?, agents::spent(conn, SpentOn::Brief(brief))?))
        });
        let (day, of_brief) = read.await?;
        let over = |spent: &Spent, limit: Option<f64>| {
            limit.filter(|limit| spent.cost.is_some_and(|cost| amount(cost) >= *limit))
        };
        let currency = |spent: &Spent| spent.currency.clone().unwrap_or_default();
        let raise = "raise it below `[spend]` in config.toml";
        if let Some(limit) = over(&day, spend.per_day) {
            return Ok(Some(format!("today's limit of {limit} {} is reached; {raise}", currency(&day))));
        }
        if let Some(limit) = over(&of_brief, spend.per_brief) {
            return Ok(Some(format!(
                "the limit of {limit} {} for brief {brief} is reached; {raise}",
                currency(&of_brief)
            )));
        }
        if let Some(limit) = spend.tokens_per_day.filter(|limit| day.tokens.is_some_and(|tokens| tokens >= *limit)) {
            return Ok(Some(format!("today's limit of {limit} tokens is reached; {raise}")));
        }
        Ok(None)
    }

    /// Which spending limits cannot hold back the agents of a profile, because they do not report what they spend. None if all
    /// can, or none is set.
    pub(crate) fn unmeasured(&self, profile: &str) -> Option<String> {
        let config = Config::load(&self.home).ok()?;
        let reports = &config.profiles.get(profile)?.reports;
        let is_reported = |figure| reports.as_ref().is_some_and(|reports| reports.contains(&figure));
        let Spend { per_day, per_brief, tokens_per_day } = config.spend;
        let limits = [
            ("per_day", per_day.is_some(), Reported::Cost),
            ("per_brief", per_brief.is_some(), Reported::Cost),
            ("tokens_per_day", tokens_per_day.is_some(), Reported::Tokens),
        ];
        let missing: Vec<String> = limits
            .into_iter()
            .filter(|(_, is_set, figure)| *is_set && !is_reported(*figure))
            .map(|(name, ..)| format!("`{name}`"))
            .collect();
        if missing.is_empty() {
            return None;
        }
        let what = match reports.as_deref() {
            None => "whether its agents report what they spend is not known".to_owned(),
            Some([]) => "its agents do not report what they spend".to_owned(),
            Some(reports) => {
                let reports: Vec<&str> = reports.iter().map(|figure| figure.as_str()).collect();
                format!("of what its agents spend they report only the {}", reports.join(" and the "))
            }
        };
        Some(format!("the limit {} does not hold for `{profile}`: {what}", missing.join(" and ")))
    }

    /// Spending by day, and of the most expensive briefs or the given one.
    pub async fn spending(&self, brief: Option<BriefId>) -> Result<SpendView, Problem> {
        let limits = Config::load(&self.home)?.spend;
        let read = self.store.read(move |conn| {
            let briefs = match brief {
                Some(brief) => vec![(brief, agents::spent(conn, SpentOn::Brief(brief))?)],
                None => agents::spent_by_brief(conn, MAX_LISTED)?,
            };
            Ok((agents::spent_by_day(conn, MAX_LISTED)?, briefs))
        });
        let (days, briefs) = read.await?;
        let view = |of: String, spent: Spent| SpentView {
            of,
            tokens: spent.tokens,
            cost: spent.cost.map(amount),
            currency: spent.currency,
        };
        Ok(SpendView {
            days: days.into_iter().map(|(day, spent)| view(day, spent)).collect(),
            briefs: briefs.into_iter().map(|(brief, spent)| view(brief.to_string(), spent)).collect(),
            per_day: limits.per_day,
            per_brief: limits.per_brief,
            tokens_per_day: limits.tokens_per_day,
        })
    }
}
