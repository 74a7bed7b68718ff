//! The names of the MCP tools, which permissions and tools both know.

/// All tools, in the order in which agents see them.
pub const TOOLS: [&str; 14] = [
    "start_work",
    "recall_brief",
    "list_briefs",
    "search",
    "create_brief",
    "propose_plan",
    "refine_spec",
    "add_note",
    "write_scratchpad",
    "reserve_paths",
    "check_work",
    "check_inbox",
    "send_message",
    "hand_back",
];
