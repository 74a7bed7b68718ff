import { afterEach, describe, expect, it, vi } from "vitest";
import { commands, type Command } from "./commands.svelte";

class Element {
  isContentEditable = false;
  constructor(
    readonly tagName = "DIV",
    readonly closed = false,
  ) {}
  closest() {
    return this.closed ? this : null;
  }
}
vi.stubGlobal("HTMLElement", Element);
const dialog = { open: false };
vi.stubGlobal("document", { querySelector: () => (dialog.open ? {} : null) });

let clock = 0;
function press(key: string, more: Partial<KeyboardEvent> = {}): boolean {
  const preventDefault = vi.fn();
  commands.handleKey({ key, timeStamp: clock, target: null, preventDefault, ...more } as unknown as KeyboardEvent);
  return preventDefault.mock.calls.length > 0;
}
const command = (id: string, pressed: string, done: string[]): Command => ({
  id,
  title: id,
  group: "Test",
  keys: pressed,
  run: () => void done.push(id),
});

describe("keys", () => {
  const stops: (() => void)[] = [];
  const register = (...added: Command[]) => stops.push(commands.register(added));
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
    dialog.open = false;
    commands.paletteOpen = false;
  });

  it("run the newest command that has them, until it is taken back", () => {
    const done: string[] = [];
    register(command("old", "j", done));
    register(command("new", "j", done));
    expect(press("j")).toBe(true);
    stops.pop()?.();
    press("j");
    expect(done).toEqual(["new", "old"]);
    expect(press("q")).toBe(false);
  });

  it("count after each other only for a while", () => {
    const done: string[] = [];
    register(command("briefs", "g b", done), command("b", "b", done));
    press("g");
    clock += 1_000;
    press("b");
    expect(done).toEqual(["briefs"]);
    press("g");
    clock += 5_000;
    press("b");
    expect(done).toEqual(["briefs", "b"]);
    press("g");
    press("z");
    press("b");
    expect(done).toEqual(["briefs", "b", "b"]);
  });

  it("are ignored in fields, with other keys held, and in dialogs", () => {
    const done: string[] = [];
    register(command("j", "j", done));
    for (const tag of ["INPUT", "TEXTAREA", "SELECT"])
      press("j", { target: new Element(tag) as unknown as EventTarget });
    press("j", { ctrlKey: true });
    press("j", { altKey: true });
    press("j", { metaKey: true });
    dialog.open = true;
    press("j");
    expect(done).toEqual([]);
  });

  it("mean the page once a dialog is closed, although its field has the focus still", () => {
    const done: string[] = [];
    register(command("j", "j", done));
    press("j", { target: new Element("INPUT", true) as unknown as EventTarget });
    expect(done).toEqual(["j"]);
  });

  it("open the palette from everywhere", () => {
    expect(press("k", { ctrlKey: true, target: new Element("INPUT") as unknown as EventTarget })).toBe(true);
    expect(commands.paletteOpen).toBe(true);
    press("K", { metaKey: true });
    expect(commands.paletteOpen).toBe(false);
  });
});
