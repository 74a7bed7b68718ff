//! State that follows from events: how each noun with an id begins and changes.

use crate::event::Event;
use crate::ids::BriefId;

/// The facts about an event that are not in its body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The brief whose trace shows the event.
    pub brief: Option<BriefId>,
    pub at: &'a str,
    /// The name of the actor.
    pub by: &'a str,
}

/// A noun with an id, such as a landing. The rules, the tables and tests all apply events to it through this trait.
pub trait Aggregate: Sized {
    /// As messages call it.
    const NOUN: &'static str;
    type Id: Clone + Ord;
    /// The events that change it. The match on them in [`Aggregate::evolve`] is exhaustive.
    type Change<'a>: Copy;

    /// The change that an event means for this noun.
    fn change(event: &Event) -> Option<Self::Change<'_>>;

    fn id(change: Self::Change<'_>) -> Self::Id;

    /// The state after the first change; `None` if the change is not a first one.
    fn create(change: Self::Change<'_>, context: &Context<'_>) -> Option<Self>;

    fn evolve(&mut self, change: Self::Change<'_>, context: &Context<'_>);

    /// The new state that an event creates; `None` for any other event.
    fn created_by(event: &Event, context: &Context<'_>) -> Option<Self> {
        Self::create(Self::change(event)?, context)
    }
}

/// Implements the parts of [`Aggregate`] that are the same for each noun.
macro_rules! subject {
    ($noun:ident $word:literal, $change:ident, $id:ty) => {
        const NOUN: &'static str = $word;
        type Id = $id;
        type Change<'a> = $crate::event::$change<'a>;

        fn change(event: &$crate::event::Event) -> Option<Self::Change<'_>> {
            match event.subject() {
                $crate::event::Subject::$noun(change) => Some(change),
                _ => None,
            }
        }

        fn id(change: Self::Change<'_>) -> Self::Id {
            change.id()
        }
    };
}
pub(crate) use subject;
