// @vitest-environment happy-dom
import { cleanup, render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { InboxItem as Item } from "../api";
import { fakeDaemon, Refused, type Call } from "../testing/daemon";
import InboxItem from "./InboxItem.svelte";

vi.mock("$app/state", () => ({ page: { url: new URL("http://127.0.0.1:4747/inbox") } }));

const item = (kind: string, more: object) =>
  ({
    kind,
    title: "Cart",
    text: "fetch the manual",
    at: "2026-11-16T08:00:00Z",
    by: { type: "agent", name: "play-1" },
    ...more,
  }) as Item;
const permission = item("permission", { permission: 7 });
const show = (shown: Item, moving = false) => render(InboxItem, { item: shown, moving, upTo: 40 }).component;

let calls: Call[] = [];
const sent = () => calls.filter((call) => call.request !== "GET /api/inbox");
beforeEach(() => {
  sessionStorage.clear();
  calls = fakeDaemon({
    "GET /api/inbox": () => [],
    "POST /api/permissions/7": () => ({}),
    "POST /api/inbox/seen": () => ({}),
    "POST /api/landings/9/approve": () => ({}),
  });
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

describe("an item of the inbox", () => {
  it("is decided by its buttons, with the reason that was given", async () => {
    show(permission);
    await userEvent.click(screen.getByRole("button", { name: "Give a reason" }));
    await userEvent.type(screen.getByRole("textbox", { name: "Reason, for the agent" }), "not now");
    await userEvent.click(screen.getByRole("button", { name: "Deny" }));
    await vi.waitFor(() =>
      expect(sent()).toEqual([{ request: "POST /api/permissions/7", body: { allow: false, why: "not now" } }]),
    );
  });

  it("is decided by shortcuts, each where the item has such an action", async () => {
    const component = show(permission);
    component.markSeen();
    component.reply();
    component.allow();
    await vi.waitFor(() => expect(calls.map((call) => call.request)).toContain("GET /api/inbox"));
    expect(sent()).toEqual([{ request: "POST /api/permissions/7", body: { allow: true, why: null } }]);
    cleanup();
    const held = show(item("approval", { landing: 9 }));
    held.deny();
    held.allow();
    await vi.waitFor(() => expect(sent().at(-1)?.request).toBe("POST /api/landings/9/approve"));
    expect(sent()).toHaveLength(2);
  });

  it("takes no click and no key while the list moves under them", async () => {
    const component = show(permission, true);
    const allow = screen.getByRole("button", { name: "Allow" });
    allow.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
    component.deny();
    await new Promise((done) => setTimeout(done, 20));
    expect(sent()).toEqual([]);
    // Enter on the focused button means this button.
    allow.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 0 }));
    await vi.waitFor(() => expect(sent()).toHaveLength(1));
  });

  it("offers a reply to a message, and none to a notice of flower itself", () => {
    show(item("message", { cause: "message_received", seq: 7 }));
    expect(screen.getByRole("textbox", { name: "Reply to play-1" })).toBeTruthy();
    cleanup();
    const notice = { cause: "agent_without_tools", agent: "play-1", by: { type: "system", name: "flower" } };
    const component = show(item("message", notice));
    component.markSeen();
    expect(screen.queryByRole("textbox")).toBeNull();
    expect(screen.getByRole("link", { name: "Last output" })).toBeTruthy();
    expect(sent()).toEqual([]);
  });

  it("puts the focus on its first control", () => {
    show(permission).focusControl();
    expect(document.activeElement).toBe(screen.getByRole("button", { name: "Allow" }));
    cleanup();
    show(item("question", { brief: 3, question: 1 })).focusControl();
    expect(document.activeElement).toBe(screen.getByRole("textbox", { name: "Your answer" }));
  });

  it("keeps an answer that was refused, and drops one that was taken", async () => {
    const path = "POST /api/briefs/3/questions/1/answer";
    let answer: unknown = new Refused(500, "no_space", "the disk is full");
    calls = fakeDaemon({ "GET /api/inbox": () => [], [path]: () => answer });
    const question = item("question", { brief: 3, question: 1 });
    show(question);
    await userEvent.type(screen.getByRole("textbox"), "Moss");
    await userEvent.click(screen.getByRole("button", { name: "Answer" }));
    await vi.waitFor(() => expect(sent()).toHaveLength(1));
    cleanup();
    show(question);
    expect(screen.getByRole("textbox")).toHaveProperty("value", "Moss");
    answer = {};
    await userEvent.click(screen.getByRole("button", { name: "Answer" }));
    await vi.waitFor(() => expect(screen.getByRole("textbox")).toHaveProperty("value", ""));
    expect(sent().at(-1)?.body).toEqual({ text: "Moss" });
  });
});
