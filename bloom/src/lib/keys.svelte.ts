//! Everything that can be done from the keyboard, in one list: the shortcuts, the palette and the help all read it.
import { untrack } from "svelte";

export interface Deed {
  id: string;
  /** What the palette shows. */
  title: string;
  /** A heading of the palette. */
  group: string;
  /** One key, or two after each other as `g b`. */
  keys?: string;
  /** Only worth its place in the palette when it is asked for. */
  minor?: boolean;
  run: () => void;
}

/** How long after `g` the second key counts. */
const PATIENCE = 1_200;

class Keys {
  deeds = $state.raw<Deed[]>([]);
  palette = $state(false);
  help = $state(false);
  /** The same list: an effect that ends reads state as it was before, and would take out what others have just offered. */
  private offered: Deed[] = [];
  private first: { key: string; at: number } | undefined;

  /** Offers deeds until the returned function is called. Newer ones win over older ones with the same keys. */
  offer(deeds: Deed[]): () => void {
    this.deeds = this.offered = [...this.offered, ...deeds];
    return () => (this.deeds = this.offered = this.offered.filter((deed) => !deeds.includes(deed)));
  }

  /** Runs what a key stands for; whoever types into something is left alone. */
  press(event: KeyboardEvent): void {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.palette = !this.palette;
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    // When it was pressed: on a busy machine the page may hear of it much later.
    const now = event.timeStamp;
    const before = this.first && now - this.first.at < PATIENCE ? `${this.first.key} ` : "";
    this.first = undefined;
    const deed = this.deeds.findLast((deed) => deed.keys === before + event.key);
    if (deed) {
      event.preventDefault();
      deed.run();
    } else if (this.deeds.some((deed) => deed.keys?.startsWith(`${event.key} `))) {
      this.first = { key: event.key, at: now };
    }
  }
}

/** Whether it takes what is typed. A field of a dialog that was just closed keeps the focus for a moment, and takes nothing. */
export function isTyping(target: EventTarget | null): target is HTMLElement {
  if (!(target instanceof HTMLElement) || target.closest("dialog:not([open])")) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export const keys = new Keys();

/**
 * Offers deeds for as long as the component that asks is there. Offering reads and writes the list of all deeds, which must
 * not be followed: two components that follow it would wake each other for ever.
 */
export function offer(deeds: () => Deed[]): void {
  $effect(() => {
    const own = deeds();
    return untrack(() => keys.offer(own));
  });
}
