//! The packet: one block of Markdown with everything that an agent of any vendor needs to begin.

use super::RecallOptions;
use super::no_worktree;
use crate::Dispatcher;
use crate::profiles::config::{Config, Profile};
use flower_contract::error::Problem;
use flower_contract::view::PacketView;
use flower_core::{Binding, Caller, Dispatch, DispatchId, Fence, Role};

/// Enough for the brief itself; the rest comes with `recall_brief`.
const BUDGET: u64 = 4_000;

impl Dispatcher {
    /// Writes a packet with a new token that can claim the dispatch once or, with `member`, work beside the holder of the claim.
    pub async fn packet(&self, caller: &Caller, number: DispatchId, member: bool) -> Result<PacketView, Problem> {
        let dispatch = self.get(number).await?;
        if member && dispatch.worktree.is_none() {
            return Err(no_worktree(&dispatch));
        }
        let agent = agent_name(&dispatch, member);
        let run = Some(Binding { dispatch: number, member });
        let (brief, worktree) = (Some(dispatch.brief), dispatch.worktree.clone());
        let token = self.access.issue_token(caller, agent.clone(), Role::Worker, brief, worktree, run).await?.token;
        let recalled =
            self.recall(dispatch.brief, RecallOptions { budget: Some(BUDGET), ..RecallOptions::default() }).await?;
        let text = self.packet_text(&dispatch, member, &token, &recalled.text).await;
        Ok(PacketView { dispatch: number.0, agent, token, text })
    }

    async fn packet_text(&self, dispatch: &Dispatch, member: bool, token: &str, recalled: &str) -> String {
        let Dispatch { number, brief, kind, .. } = dispatch;
        let url = &self.url;
        // Without a valid configuration the agents that flower knows are still there.
        let config = Config::load(&self.home).or_else(|_| Config::parse(""));
        let profiles: Vec<Profile> = config.map(|config| config.profiles.into_values().collect()).unwrap_or_default();
        let configurations = configurations(&profiles);
        let begin = match &dispatch.worktree {
            Some(name) => {
                let default = match &dispatch.project {
                    Some(project) => self.profiles.agent_settings(project).await.default,
                    None => None,
                };
                let (chosen, others) = by_hand(&profiles, [dispatch.profile.as_deref(), default.as_deref()]);
                format!(
                    "In a terminal of the operator: this runs the agent inside the seal of worktree `{name}`, which is made when \
                     it is first entered or claimed. The profile lends its keys and its login, and flower's tools are in the \
                     agent's configuration there.\n\n\
                     ```sh\nFLOWER_TOKEN={token} flower worktree shell {name} --as {chosen}   # or --as {others}\n```\n"
                )
            }
            None => format!(
                "This work has no worktree. Start your agent with:\n\n```sh\nexport FLOWER_TOKEN={token}\nexport FLOWER_URL={url}\n```\n"
            ),
        };
        let (task, works) = if member {
            ("You work beside the agent that holds the claim", "It is yours for this run")
        } else {
            ("You do it", "It works once to claim, and from then on for that run only")
        };
        let start = if member {
            "`recall_brief` and `reserve_paths` before you change anything".to_owned()
        } else {
            format!("`start_work` with `dispatch: {number}`: it claims, recalls and, with `paths`, reserves")
        };
        let by_hand = if member {
            format!("flower brief show {brief} --as-agent\nflower lease take src/ --ttl 30m\n")
        } else {
            format!(
                "flower claim {number}                       # says the fence\nflower brief show {brief} --as-agent\n\
                 flower lease take src/ --ttl 30m\nflower beat {number} --fence F                # at least every 15 minutes\n\
                 flower handback {number} --fence F --summary \"what was done\"\n"
            )
        };
        format!(
            "# flower: dispatch {number}, `{kind}` of brief {brief}\n\n\
             {task}. The brief as flower has it stands below the last line of this page.\n\n\
             ## Start\n\n{begin}\n\
             The token is your identity. {works}. Keep it out of files and commits.\n\n\
             ## Connect\n\n\
             flower is an MCP server: the command `flower mcp`, which takes `FLOWER_URL` and `FLOWER_TOKEN` from the \
             environment (both are there inside the seal). If your agent has it configured already, without a token, pass \
             this page's token to `start_work`. `--as` has written the entry of its agent into the home inside the seal; elsewhere \
             you add it:\n\n\
             {configurations}\
             Over HTTP: `{url}/mcp` with `Authorization: Bearer` and the token.\n\n\
             Without MCP, the same from a shell:\n\n```sh\n{by_hand}```\n\n\
             ## Rules of the house\n\n\
             1. Begin with {start}.\n{RULES}\n\
             ---\n\n{recalled}"
        )
    }
}

/// The profile of a command that starts an agent, and the others, in words. The first wish that names a profile counts.
fn by_hand(profiles: &[Profile], wishes: [Option<&str>; 2]) -> (String, String) {
    let mut names: Vec<&str> =
        profiles.iter().filter(|profile| !profile.by_hand.is_empty()).map(|profile| profile.name.as_str()).collect();
    let wished = wishes.into_iter().flatten().find_map(|wish| names.iter().position(|name| *name == wish));
    let chosen = match names.is_empty() {
        true => return ("PROFILE".to_owned(), "another".to_owned()),
        false => names.remove(wished.unwrap_or(0)).to_owned(),
    };
    (chosen, names.join(", "))
}

/// How each agent gets flower's tools, where flower does not start it.
fn configurations(profiles: &[Profile]) -> String {
    let all = profiles.iter().filter_map(|profile| profile.mcp.as_ref());
    let blocks = all.filter_map(|mcp| {
        let language = mcp.language()?.as_str();
        Some(format!("{}, in `{}`:\n\n```{language}\n{}\n```\n\n", mcp.title, mcp.file, mcp.entry.trim()))
    });
    blocks.collect()
}

const RULES: &str = "\
2. Work in the worktree only. Commit to its branch, often; only commits count. Do not push, and do not look for MAIN.
3. If others work there too, reserve what you change (`reserve_paths`), and do not touch what they reserved.
4. Questions go to the brief (`add_note` with `kind: question`); go on with what does not depend on the answer, which \
   `check_inbox` has.
5. If the plan is wrong, say so: `refine_spec` with a reason. If it moves while you work, you are told.
6. When it is committed, `check_work` merges it with MAIN and runs the checks, as the landing will.
7. End with `hand_back`: what you did, and what you did not. Everything must be committed and merge with MAIN.
";

/// The name of the agent, different for each run, so that the trace tells them apart.
fn agent_name(dispatch: &Dispatch, member: bool) -> String {
    let base = format!("{}-{}", dispatch.profile.as_deref().unwrap_or("agent"), dispatch.number);
    match (member, dispatch.fence) {
        (true, _) => format!("{base}-m{}", &crate::home::random_hex()[..4]),
        (false, Fence(0)) => base,
        (false, fence) => format!("{base}-{}", fence.next()),
    }
}
