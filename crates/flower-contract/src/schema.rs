//! OpenAPI schemas of types from `flower_core`, which does not depend on HTTP. Each type here describes the one of the same
//! name there; fields refer to it with `#[schema(value_type = …)]`.

use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Defines the schema of enums that are strings in JSON, from the list of all their values.
macro_rules! word_schemas {
    ($($(#[doc = $doc:literal])? $name:ident = $core:ty;)*) => {
        $(
            $(#[doc = $doc])?
            pub enum $name {}

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let description: Option<&str> = None$(.or(Some($doc)))?;
                    let words = <$core>::ALL.iter().map(|word| word.as_str());
                    let schema = ObjectBuilder::new()
                        .schema_type(Type::String)
                        .description(description.map(str::trim))
                        .enum_values(Some(words));
                    RefOr::T(Schema::Object(schema.build()))
                }
            }

            impl ToSchema for $name {
                fn name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }
            }
        )*
    };
}

word_schemas! {
    /// The kind of actor behind an event.
    ActorType = flower_core::ActorType;
    /// What is wrong with MAIN.
    Alarm = flower_core::main_branch::Alarm;
    BriefKind = flower_core::BriefKind;
    /// Why an item needs a person.
    Cause = flower_core::attention::Cause;
    DispatchKind = flower_core::readiness::DispatchKind;
    DispatchState = flower_core::dispatch::DispatchState;
    /// How an agent ended.
    Ending = flower_core::agent::Ending;
    /// Why a landing waits for the operator.
    HoldCode = flower_core::landing::HoldCode;
    /// The kinds of items in the inbox, most urgent first.
    ItemKind = flower_core::attention::ItemKind;
    LinkKind = flower_core::LinkKind;
    Priority = flower_core::landing::Priority;
    /// Why a brief cannot be dispatched, or why its dispatch waits.
    ReasonCode = flower_core::readiness::ReasonCode;
    /// The rights of a token.
    Role = flower_core::Role;
    /// The isolation of a worktree: `sealed` has a private repository, `linked` is a plain git worktree.
    Seal = flower_core::worktree::Seal;
    /// A side of a diff: MAIN or the worktree.
    Side = flower_core::review::Side;
    /// A `lane` stays for ongoing work; an `ephemeral` worktree is removed once its work is in MAIN.
    WorktreeKind = flower_core::worktree::WorktreeKind;
    /// The origin of the commit of a landing.
    Source = flower_core::landing::Source;
    /// How a version of a spec came about.
    SpecOrigin = flower_core::brief::SpecOrigin;
    State = flower_core::landing::State;
    Status = flower_core::Status;
    /// How the page highlights an item.
    Tone = flower_core::attention::Tone;
    /// A part of the state that clients show.
    Topic = flower_core::Topic;
    /// Why a landing was rejected.
    Verdict = flower_core::landing::Verdict;
}

#[derive(ToSchema)]
pub struct Actor {
    #[schema(rename = "type")]
    pub sort: ActorType,
    pub name: String,
}

/// A person or an agent that acted on a brief.
#[derive(ToSchema)]
pub struct Participant {
    pub name: String,
    #[schema(rename = "type")]
    pub sort: ActorType,
    pub role: Role,
    pub worktree: Option<String>,
    pub wave: Option<u64>,
    pub active: bool,
}

/// An image in the blob store, addressed by the SHA-256 of its content.
#[derive(ToSchema)]
pub struct Image {
    pub sha256: String,
    /// `image/png`, `image/jpeg`, `image/webp` or `image/gif`.
    pub media_type: String,
    pub bytes: u64,
    pub width: u64,
    pub height: u64,
}

/// The result of a dispatch.
#[derive(ToSchema)]
pub struct Outcome {
    pub summary: String,
    pub not_done: Option<String>,
    /// The newest commit of the branch, if it has commits of its own.
    pub tip: Option<String>,
    pub commits: Vec<String>,
}

#[derive(ToSchema)]
pub struct Archive {
    /// The newest commit of the branch.
    pub tip: String,
    /// The branch was kept, because its commits are not known to be in MAIN.
    pub branch_kept: bool,
    /// Number of uncommitted files.
    pub files: u64,
    pub bytes: u64,
    /// Ignored files that were too large to keep.
    pub left_out: Vec<String>,
    pub removed_at: String,
    /// RFC 3339; the archive is deleted after that.
    pub until: String,
}

/// A check that has run.
#[derive(ToSchema)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    /// The exit code as in a shell: 124 is a timeout, 127 command not found.
    pub code: i64,
    pub milliseconds: u64,
    /// Path relative to the landing's folder.
    pub log: String,
    /// It did not run, because the landing changes none of its paths.
    pub skipped: Option<bool>,
    /// It did not run, because it passed before on the same tree. Says where, such as `in landing 12`.
    pub reused: Option<String>,
}

/// A comment on one line of the changes in a worktree.
#[derive(ToSchema)]
pub struct Remark {
    pub project: String,
    pub worktree: String,
    pub file: String,
    pub line: u64,
    pub side: Side,
    /// The commit in which the line was read.
    pub commit: String,
    /// The text of the line.
    pub quote: String,
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The fields that serde writes are the fields that the schema names.
    fn same<T: ToSchema>(written: impl serde::Serialize) {
        let schema = serde_json::to_value(T::schema()).expect("a schema is plain data");
        let names = |value: &Value| -> Vec<String> {
            let mut names: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
            names.sort();
            names
        };
        let written = serde_json::to_value(written).expect("plain data");
        assert_eq!(names(&schema["properties"]), names(&written), "{}", T::name());
    }

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("a value of the type")
    }

    #[test]
    fn a_schema_names_the_fields_that_are_written() {
        let actor: flower_core::Actor = read(json!({ "type": "agent", "name": "a" }));
        same::<Actor>(actor);
        let who: flower_core::Participant =
            read(json!({ "type": "agent", "name": "a", "role": "worker", "worktree": "w", "wave": 1, "active": true }));
        same::<Participant>(who);
        let image: flower_core::event::Image =
            read(json!({ "sha256": "", "media_type": "image/png", "bytes": 1, "width": 1, "height": 1 }));
        same::<Image>(image);
        let outcome: flower_core::dispatch::Outcome =
            read(json!({ "summary": "", "not_done": "x", "tip": "x", "commits": [] }));
        same::<Outcome>(outcome);
        let archive: flower_core::worktree::Archive = read(json!({
            "tip": "", "branch_kept": true, "files": 1, "bytes": 1, "left_out": [], "removed_at": "", "until": ""
        }));
        same::<Archive>(archive);
        let check: flower_core::landing::Check = read(
            json!({ "name": "", "ok": true, "code": 0, "milliseconds": 1, "log": "", "skipped": true, "reused": "x" }),
        );
        same::<Check>(check);
        let remark: flower_core::review::Remark = read(json!({
            "project": "", "worktree": "", "file": "", "line": 1, "side": "new", "commit": "", "quote": "", "text": ""
        }));
        same::<Remark>(remark);
    }
}
