//! The model of a session: which ones the agent offers, and the choice of the profile's.
//!
//! Agents offer models in two ways: as a config option of the session, or as a list beside `session/set_model`.

use super::opening::OpenError;
use crate::acp::schema::SessionId;
use crate::acp::{AcpError, Connection};
use crate::profiles::config::Profile;
use crate::profiles::outages::{self, Said};
use flower_core::text::visible;
use serde_json::{Value, json};
use std::time::Duration;

/// Models that are read of an offer; gateways offer hundreds.
const MAX_OFFERED: usize = 500;
/// Models that an error names.
const MAX_NAMED: usize = 20;
/// Length of a model's name.
const MAX_NAME: usize = 120;

/// The models that a session offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) current: Option<String>,
    pub(super) models: Vec<String>,
    by: Setting,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Setting {
    /// The config option with this id. The agent decides which values it takes: some know further names for a model.
    Option(String),
    /// `session/set_model`. Agents take any value, so only the listed ones can be chosen.
    SetModel,
}

/// The model that a session works with, and what there is to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChosenModel {
    pub(super) model: Option<String>,
    pub(super) note: Option<String>,
}

impl Offer {
    /// Reads the answer to a request that opens a session.
    pub(super) fn read(settings: &Value) -> Option<Offer> {
        Offer::of_options(&settings["configOptions"]).or_else(|| {
            let list = &settings["models"];
            let models = list["availableModels"].as_array()?;
            let models = models.iter().filter_map(|model| model["modelId"].as_str());
            Some(Offer {
                current: list["currentModelId"].as_str().map(name),
                models: models.take(MAX_OFFERED).map(name).collect(),
                by: Setting::SetModel,
            })
        })
    }

    /// Reads config options of a session.
    pub(super) fn of_options(options: &Value) -> Option<Offer> {
        let options = options.as_array()?;
        let is_model = |option: &&Value| option["category"] == "model";
        let option = options.iter().find(|option| option["id"] == "model").or_else(|| options.iter().find(is_model))?;
        let values = option["options"].as_array().into_iter().flatten();
        // Options may come in groups.
        let values = values.flat_map(|value| match value["options"].as_array() {
            Some(group) => group.iter().collect::<Vec<_>>(),
            None => vec![value],
        });
        Some(Offer {
            current: option["currentValue"].as_str().map(name),
            models: values.filter_map(|value| value["value"].as_str()).take(MAX_OFFERED).map(name).collect(),
            by: Setting::Option(option["id"].as_str()?.to_owned()),
        })
    }

    fn offers(&self, model: &str) -> bool {
        self.models.iter().any(|offered| offered == model)
    }

    fn in_words(&self) -> String {
        let named: Vec<String> = self.models.iter().take(MAX_NAMED).map(|model| format!("`{model}`")).collect();
        match self.models.len() {
            0 => "it offers none".to_owned(),
            count if count > MAX_NAMED => format!("it offers {} and {} more", named.join(", "), count - MAX_NAMED),
            _ => format!("it offers {}", named.join(", ")),
        }
    }
}

fn name(model: &str) -> String {
    visible(model, MAX_NAME)
}

/// Chooses the model of the profile. Fails with the models that are offered if it cannot be chosen; a session never
/// continues with another one.
pub(super) async fn choose_model(
    connection: &Connection,
    id: &SessionId,
    profile: &Profile,
    settings: &Value,
    timeout: Duration,
) -> Result<ChosenModel, OpenError> {
    let offer = Offer::read(settings);
    let Some(wanted) = profile.model.as_deref() else {
        return Ok(ChosenModel { model: offer.and_then(|offer| offer.current), note: None });
    };
    let name_of = &profile.name;
    let Some(offer) = offer else {
        // The profile names it to the agent in another way.
        if profile.passes_model {
            let note = format!("the model is `{wanted}`, as the profile sets it; the session reports none");
            return Ok(ChosenModel { model: Some(wanted.to_owned()), note: Some(note) });
        }
        return Err(OpenError::Failed(format!(
            "the model `{wanted}` cannot be chosen: the sessions of `{name_of}` offer no models; remove `model` from \
             `[agents.{name_of}]`, and name it in `command` or `set`, or with `model_set`"
        )));
    };
    if offer.current.as_deref() == Some(wanted) {
        return Ok(ChosenModel { model: Some(wanted.to_owned()), note: None });
    }
    let refused = |why: &str| {
        let words = format!("the model `{wanted}` of `{name_of}` cannot be chosen{why}; {}", offer.in_words());
        Err(OpenError::Failed(words))
    };
    let reported = match &offer.by {
        Setting::SetModel if !offer.offers(wanted) => return refused(""),
        Setting::SetModel => {
            let request = json!({ "sessionId": id, "modelId": wanted });
            match connection.call::<_, Value>("session/set_model", &request, timeout).await {
                // The answer is empty.
                Ok(_) => Some(wanted.to_owned()),
                Err(error) if is_about_the_model(&error, profile) => return refused(&format!(": {error}")),
                Err(error) => return Err(error.into()),
            }
        }
        Setting::Option(option) => {
            let request = json!({ "sessionId": id, "configId": option, "value": wanted });
            match connection.call::<_, Value>("session/set_config_option", &request, timeout).await {
                Ok(answer) => Offer::of_options(&answer["configOptions"]).and_then(|offer| offer.current),
                Err(error) if is_about_the_model(&error, profile) => return refused(&format!(": {error}")),
                Err(error) => return Err(error.into()),
            }
        }
    };
    match reported {
        Some(model) if model == wanted => Ok(ChosenModel { model: Some(model), note: None }),
        // It took the choice, and kept what it had.
        Some(model) if offer.offers(wanted) => refused(&format!(": the session took the choice and reports `{model}`")),
        // A further name for one of its models.
        Some(model) => {
            let note = format!("asked for the model `{wanted}`, the session reports `{model}`");
            Ok(ChosenModel { model: Some(model), note: Some(note) })
        }
        None => {
            let note = format!("the model `{wanted}` was chosen; the session does not report which it has");
            Ok(ChosenModel { model: Some(wanted.to_owned()), note: Some(note) })
        }
    }
}

/// Whether a refusal is about the chosen model. A limit, an outage or the end of the process says nothing about it.
fn is_about_the_model(error: &AcpError, profile: &Profile) -> bool {
    let AcpError::Refused { code, message, data, .. } = error else { return false };
    let said = Said::Error { code: *code, message, data };
    outages::recognize(&profile.outages, said, &jiff::Zoned::now()).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::config::Config;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};

    fn options(current: &str) -> Value {
        json!([{ "id": "mode", "currentValue": "default", "options": [] },
            { "id": "model", "category": "model", "currentValue": current,
              "options": [{ "value": "big" }, { "name": "more", "options": [{ "value": "small" }] }] }])
    }

    fn listed(current: &str) -> Value {
        json!({ "models": { "currentModelId": current,
            "availableModels": [{ "modelId": "big" }, { "modelId": "small" }] } })
    }

    /// The choice of `wanted`, by an agent that answers the one request so.
    async fn chosen(wanted: &str, settings: Value, answer: Value) -> Result<ChosenModel, String> {
        let config = Config::parse(&format!(
            "[agents.x]\nprotocol = \"acp\"\ncommand = [\"x\"]\nmodel = \"{wanted}\"\noutages = [{{ kind = \"limit\", text = \"too many requests\" }}]\n"
        ));
        let config = config.unwrap();
        let (ours, theirs) = duplex(1 << 16);
        let (from, to) = split(ours);
        let (connection, _incoming) = Connection::new(from, to);
        tokio::spawn(async move {
            let (from, mut to) = split(theirs);
            let mut lines = BufReader::new(from).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let asked: Value = serde_json::from_str(&line).unwrap();
                let mut answer = answer.clone();
                answer["id"] = asked["id"].clone();
                to.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
        });
        let (id, profile) = (SessionId::new("s"), config.profile("x").unwrap());
        choose_model(&connection, &id, profile, &settings, Duration::from_secs(5)).await.map_err(|error| match error {
            OpenError::Failed(why) => why,
            OpenError::Acp(error) => format!("not about the model: {error}"),
        })
    }

    fn model(model: &str) -> Result<ChosenModel, String> {
        Ok(ChosenModel { model: Some(model.to_owned()), note: None })
    }

    #[tokio::test]
    async fn a_model_is_chosen_by_option_or_by_set_model() {
        let by_option = json!({ "configOptions": options("big") });
        let answer = json!({ "result": { "configOptions": options("small") } });
        assert_eq!(chosen("small", by_option.clone(), answer).await, model("small"));
        assert_eq!(chosen("big", by_option, json!({ "error": {} })).await, model("big"), "it is current already");
        assert_eq!(chosen("small", listed("big"), json!({ "result": {} })).await, model("small"));
    }

    #[tokio::test]
    async fn a_model_that_cannot_be_chosen_is_refused_with_those_that_can() {
        let no = json!({ "error": { "code": -32602, "message": "no such model" } });
        for (settings, answer, words) in [
            (json!({ "configOptions": options("big") }), no.clone(), "no such model; it offers `big`, `small`"),
            (listed("big"), json!({ "result": {} }), "cannot be chosen; it offers `big`, `small`"),
            (json!({}), json!({ "result": {} }), "offer no models"),
        ] {
            let refused = chosen("other", settings, answer).await.unwrap_err();
            assert!(refused.contains("`other`") && refused.contains(words), "{refused}");
        }
        let kept = json!({ "result": { "configOptions": options("big") } });
        let refused = chosen("small", json!({ "configOptions": options("big") }), kept).await.unwrap_err();
        assert!(refused.contains("reports `big`"), "{refused}");
    }

    #[tokio::test]
    async fn a_limit_or_an_end_is_no_refusal_of_the_model() {
        let limit = json!({ "error": { "code": -32603, "message": "429 Too Many Requests" } });
        for settings in [json!({ "configOptions": options("big") }), listed("big")] {
            let failed = chosen("small", settings.clone(), limit.clone()).await.unwrap_err();
            assert!(failed.starts_with("not about the model"), "{failed}");
        }
    }

    #[tokio::test]
    async fn what_the_session_reports_is_said_where_it_differs() {
        let alias = json!({ "result": { "configOptions": options("big") } });
        let taken = chosen("largest", json!({ "configOptions": options("small") }), alias).await.unwrap();
        assert_eq!(taken.model.as_deref(), Some("big"));
        assert!(taken.note.unwrap().contains("`largest`"));
        let silent =
            chosen("small", json!({ "configOptions": options("big") }), json!({ "result": {} })).await.unwrap();
        assert_eq!(silent.model.as_deref(), Some("small"));
        assert!(silent.note.unwrap().contains("does not report"));
    }
}
