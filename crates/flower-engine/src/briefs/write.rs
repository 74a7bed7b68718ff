//! Writing briefs: one use case for each change, used by HTTP and MCP alike.

use crate::Briefs;
use flower_contract::error::Problem;
use flower_contract::request::{Accept, EditBrief, Needs, NewBrief, NewLink, NewNote, Plan, Refine, SetStatus};
use flower_contract::view::BriefView;
use flower_core::command::BriefChanges;
use flower_core::policy;
use flower_core::{BriefId, BriefKind, Caller, Command, Event, Recorded, Role};

impl Briefs {
    /// Creates a brief in a project that the caller has found.
    pub async fn create(&self, caller: &Caller, project: String, new: NewBrief) -> Result<BriefView, Problem> {
        policy::require_proposal(caller, new.spec.is_some())?;
        let command = Command::CreateBrief(flower_core::brief::Request {
            title: new.title,
            kind: new.kind.unwrap_or(BriefKind::Feature),
            spec: new.spec,
            projects: vec![project],
            epic: new.epic.map(BriefId),
            needs: new.needs.into_iter().map(BriefId).collect(),
            auto_dispatch: new.auto_dispatch,
            design_loop: new.design_loop,
        });
        let events = self.store.execute(caller, command).await?;
        let number = events.first().and_then(|event| event.brief);
        self.show(number.ok_or_else(|| Problem::bug("a brief without a number"))?).await
    }

    pub async fn edit(&self, caller: &Caller, brief: BriefId, edit: EditBrief) -> Result<BriefView, Problem> {
        let changes = BriefChanges {
            title: edit.title,
            kind: edit.kind,
            epic: edit.epic.map(|epic| (epic != 0).then_some(BriefId(epic))),
            auto_dispatch: edit.auto_dispatch,
            design_loop: edit.design_loop,
            add_projects: edit.add_projects,
            drop_projects: edit.drop_projects,
        };
        self.change(caller, brief, Command::EditBrief { brief, changes }).await
    }

    pub async fn propose_plan(&self, caller: &Caller, brief: BriefId, plan: Plan) -> Result<BriefView, Problem> {
        self.change(caller, brief, Command::ProposePlan { brief, markdown: plan.markdown }).await
    }

    /// Accepts the plan or the result that waits for it.
    pub async fn accept(&self, caller: &Caller, brief: BriefId, accept: Accept) -> Result<BriefView, Problem> {
        self.change(caller, brief, Command::Accept { brief, version: accept.version }).await
    }

    pub async fn refine(&self, caller: &Caller, brief: BriefId, refine: Refine) -> Result<BriefView, Problem> {
        let Refine { markdown, base, why } = refine;
        // Rights before state: the answer must not reveal a brief of others.
        policy::require_contribution(caller, Some(brief))?;
        // The same text would only make a version that waits for acceptance.
        let now = self.show(brief).await?;
        // The rules refuse a refinement by ops, also of the same text.
        let is_newest = caller.role != Role::Ops && base.is_none_or(|base| base == now.spec.version);
        if is_newest
            && !now.status.is_closed()
            && now.spec.version > 0
            && now.spec.markdown == markdown.replace("\r\n", "\n")
        {
            return Ok(now);
        }
        self.change(caller, brief, Command::Refine { brief, markdown, base, why }).await
    }

    pub async fn set_status(&self, caller: &Caller, brief: BriefId, set: SetStatus) -> Result<BriefView, Problem> {
        let command = Command::SetStatus { brief, status: set.status.parse()?, why: set.why };
        self.change(caller, brief, command).await
    }

    /// Adds a dependency, or drops one.
    pub async fn change_needs(&self, caller: &Caller, brief: BriefId, needs: Needs) -> Result<BriefView, Problem> {
        let command = match needs.drop {
            true => Command::DropNeed { brief, needs: BriefId(needs.needs) },
            false => Command::AddNeed { brief, needs: BriefId(needs.needs) },
        };
        self.change(caller, brief, command).await
    }

    pub async fn add_link(&self, caller: &Caller, brief: BriefId, link: NewLink) -> Result<BriefView, Problem> {
        let command = Command::AddLink { brief, kind: link.kind.parse()?, target: link.target, label: link.label };
        self.change(caller, brief, command).await
    }

    /// Adds a note or a comment with stored images, and returns its event.
    pub async fn add_note(&self, caller: &Caller, brief: BriefId, note: NewNote) -> Result<Recorded, Problem> {
        let images = self.images(&note.images).await?;
        self.record(caller, Command::AddNote { brief, text: note.text, comment: note.comment, images }).await
    }

    /// Asks a question, and returns its event and its number. With `help`, the work cannot go on without the answer.
    pub async fn ask(
        &self,
        caller: &Caller,
        brief: BriefId,
        text: String,
        help: bool,
    ) -> Result<(Recorded, u64), Problem> {
        let asked = self.record(caller, Command::Ask { brief, text, help }).await?;
        match asked.event() {
            Ok(Event::QuestionAsked(question)) => Ok((asked, question.question)),
            _ => Err(Problem::bug("a question without a number")),
        }
    }

    /// Answers a question, and returns the event.
    pub async fn answer(
        &self,
        caller: &Caller,
        brief: BriefId,
        question: u64,
        text: String,
    ) -> Result<Recorded, Problem> {
        self.record(caller, Command::Answer { brief, question, text }).await
    }

    /// Submits a command that changes a brief, and shows the brief afterwards.
    async fn change(&self, caller: &Caller, brief: BriefId, command: Command) -> Result<BriefView, Problem> {
        self.store.execute(caller, command).await?;
        self.show(brief).await
    }

    /// Submits a command, and returns its last event: the first may be that the caller becomes a participant.
    async fn record(&self, caller: &Caller, command: Command) -> Result<Recorded, Problem> {
        let events = self.store.execute(caller, command).await?;
        events.into_iter().next_back().ok_or_else(|| Problem::bug("a command without an event"))
    }
}
