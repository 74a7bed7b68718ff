// Stands in for `flower mcp`: the same tools on standard input and output, with answers that are made up.
import { createInterface } from "node:readline";

const TOOLS = {
  start_work: ["dispatch", "paths"],
  recall_brief: ["brief"],
  reserve_paths: ["patterns"],
  add_note: ["brief", "text"],
  hand_back: ["dispatch", "fence", "summary"],
};
const sort = (name) =>
  name === "paths" || name === "patterns"
    ? { type: "array", items: { type: "string" } }
    : { type: name === "text" || name === "summary" ? "string" : "integer" };
const list = Object.entries(TOOLS).map(([name, fields]) => ({
  name,
  description: name,
  inputSchema: {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field, sort(field)])),
    required: fields,
  },
  _meta: { "anthropic/alwaysLoad": true },
}));

function answer(method, params) {
  if (method === "initialize") {
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "flower", version: "0" },
    };
  }
  if (method === "ping") return {};
  if (method === "tools/list") return { tools: list };
  if (method === "tools/call" && params.name in TOOLS) {
    const said = { tool: params.name, ...params.arguments, identified: process.env.FLOWER_TOKEN !== undefined };
    if (params.name === "start_work") said.fence = 7;
    if (params.name === "recall_brief") said.spec = "The greeting names flower.";
    return { content: [{ type: "text", text: JSON.stringify(said) }] };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answer(method, params ?? {});
  const error = { code: -32601, message: `no method ${method}` };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }) + "\n");
}
