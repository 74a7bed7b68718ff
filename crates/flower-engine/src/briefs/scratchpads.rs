//! Scratchpads.

use crate::{Briefs, PAGE};
use flower_contract::error::Problem;
use flower_contract::view::ScratchpadView;
use flower_core::policy::Read;
use flower_core::scratchpad::Scratchpad;
use flower_core::{BriefId, Caller, Command, Refusal, ScratchpadId};
use flower_store::StoreError;
use flower_store::scratchpads::ScratchpadRow;

impl Briefs {
    pub async fn scratchpads(
        &self,
        caller: &Caller,
        brief: Option<BriefId>,
        after: u64,
        limit: Option<u64>,
    ) -> Result<Vec<ScratchpadView>, Problem> {
        let reader = self.access.reader(caller).await?;
        // A caller that cannot read all of them means those of its own brief.
        let brief = if reader.may(Read::Brief { number: None }) { brief } else { brief.or(caller.brief) };
        reader.require(Read::Brief { number: brief })?;
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let pads = self
            .store
            .read(move |conn| flower_store::scratchpads::list(conn, brief, ScratchpadId(after), limit))
            .await?;
        Ok(pads.into_iter().map(view).collect())
    }

    pub async fn create_scratchpad(
        &self,
        caller: &Caller,
        title: String,
        brief: Option<BriefId>,
        text: Option<String>,
    ) -> Result<ScratchpadView, Problem> {
        let created: Scratchpad = self.store.create(caller, Command::CreateScratchpad { title, brief, text }).await?;
        self.scratchpad(created.number).await
    }

    /// Replaces the text of version `base`, or appends to the newest.
    pub async fn write_scratchpad(
        &self,
        caller: &Caller,
        number: ScratchpadId,
        text: String,
        append: bool,
        base: Option<u64>,
    ) -> Result<ScratchpadView, Problem> {
        self.store.execute(caller, Command::WriteScratchpad { number, text, append, base }).await?;
        self.scratchpad(number).await
    }

    pub async fn scratchpad(&self, number: ScratchpadId) -> Result<ScratchpadView, Problem> {
        let pad = self.store.read(move |conn| {
            flower_store::scratchpads::scratchpad(conn, number)?
                .ok_or(StoreError::Refused(Refusal::NoScratchpad { number }))
        });
        Ok(view(pad.await?))
    }
}

fn view(pad: ScratchpadRow) -> ScratchpadView {
    ScratchpadView {
        number: pad.number.0,
        title: pad.title,
        brief: pad.brief.map(u64::from),
        version: pad.version,
        by: pad.by,
        created_at: pad.created_at,
        updated_at: pad.updated_at,
        text: pad.text,
    }
}
