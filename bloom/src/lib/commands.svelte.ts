//! The commands of a page in one list. Keyboard shortcuts, the palette and the help all read it.
import { untrack } from "svelte";

export interface Command {
  id: string;
  /** The name in the palette. */
  title: string;
  /** The heading in the palette and in the help. */
  group: string;
  /** One key, or a sequence of two such as `g b`. */
  keys?: string;
  /** Shown in the palette only when it is searched for. */
  minor?: boolean;
  run: () => void;
}

/** Longest time between the two keys of a sequence. */
const SEQUENCE_TIMEOUT = 1_200;

class Commands {
  all = $state.raw<Command[]>([]);
  paletteOpen = $state(false);
  helpOpen = $state(false);
  /** A plain copy of `all`: the teardown of an effect reads state as it was before, and would drop newer registrations. */
  private registered: Command[] = [];
  private first: { key: string; at: number } | undefined;

  /** Registers commands until the returned function is called. Of two with the same keys the newer one runs. */
  register(added: Command[]): () => void {
    this.all = this.registered = [...this.registered, ...added];
    return () => (this.all = this.registered = this.registered.filter((command) => !added.includes(command)));
  }

  /** Runs the command of a key. Keys typed into a field or while a dialog is open are ignored. */
  handleKey(event: KeyboardEvent): void {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.paletteOpen = !this.paletteOpen;
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    // When it was pressed: on a busy machine the page may handle it much later.
    const now = event.timeStamp;
    const before = this.first && now - this.first.at < SEQUENCE_TIMEOUT ? `${this.first.key} ` : "";
    this.first = undefined;
    const command = this.all.findLast((one) => one.keys === before + event.key);
    if (command) {
      event.preventDefault();
      command.run();
    } else if (this.all.some((one) => one.keys?.startsWith(`${event.key} `))) {
      this.first = { key: event.key, at: now };
    }
  }
}

/** Whether an element takes typed text. A field of a dialog that was just closed keeps the focus for a moment, but takes none. */
export function isTyping(target: EventTarget | null): target is HTMLElement {
  if (!(target instanceof HTMLElement) || target.closest("dialog:not([open])")) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export const commands = new Commands();

/**
 * Registers commands for the lifetime of a component. Registering reads and writes the list of all commands, which must not
 * be tracked: two components that track it would trigger each other for ever.
 */
export function registerCommands(own: () => Command[]): void {
  $effect(() => {
    const added = own();
    return untrack(() => commands.register(added));
  });
}
