//! Browser notifications about new items while no window of flower is visible. All windows
//! agree on one that notifies.
import { goto } from "$app/navigation";
import type { InboxItem } from "../api";
import { appState } from "../app-state.svelte";
import { inboxKey, inboxHref } from "./inbox-items";
import { notificationText } from "./inbox-groups";

const KEY = "flower.notify";
/** The lock of the window that notifies. */
const SPEAKER = "flower.notify";
/** A shared lock of all visible windows. */
const IN_SIGHT = "flower.in-sight";
/** More than this are summarised in one notification. */
const MAX_SINGLE = 3;

class Notifications {
  /** The operator has turned notifications on. */
  wanted = $state(localStorage.getItem(KEY) === "yes");
  permission = $state(typeof Notification === "undefined" ? "denied" : Notification.permission);
  private known: Set<string> | undefined;
  private speaks = false;

  get possible(): boolean {
    return typeof Notification !== "undefined";
  }

  get on(): boolean {
    return this.wanted && this.permission === "granted";
  }

  /** The browser asks only now, and only if it was never asked. */
  async enable(): Promise<void> {
    this.permission = await Notification.requestPermission();
    this.want(this.permission === "granted");
  }

  want(wanted: boolean): void {
    this.wanted = wanted;
    localStorage.setItem(KEY, wanted ? "yes" : "no");
  }

  /** Follows the inbox. Called by the frame of the page, within an effect. */
  follow(): () => void {
    const gone = new AbortController();
    void navigator.locks
      .request(SPEAKER, { signal: gone.signal }, () => {
        this.speaks = true;
        return until(gone.signal);
      })
      .catch(() => undefined);
    const stopShowing = holdWhileInSight(gone.signal);
    const heard = (event: StorageEvent) => {
      if (event.key === KEY) this.wanted = event.newValue === "yes";
    };
    addEventListener("storage", heard);
    return () => {
      gone.abort();
      this.speaks = false;
      stopShowing();
      removeEventListener("storage", heard);
    };
  }

  /** The inbox as it is now. What waited when the page was opened is no news. */
  async see(items: InboxItem[]): Promise<void> {
    const before = this.known;
    this.known = new Set(items.map(inboxKey));
    if (!before || !this.speaks || !this.on) return;
    const fresh = items.filter((item) => !before.has(inboxKey(item)));
    if (fresh.length === 0 || (await isAnyWindowVisible())) return;
    if (fresh.length > MAX_SINGLE) show(`${fresh.length} new items wait for you`, "flower", "many", "/inbox");
    else {
      for (const item of fresh) {
        const { title, body } = notificationText(item);
        show(title, body, inboxKey(item), item.kind === "message" ? "/inbox" : inboxHref(item));
      }
    }
  }
}

function show(title: string, body: string, tag: string, place: string): void {
  try {
    const shown = new Notification(title, { body, tag: `flower ${tag}`, icon: "/icon.svg" });
    shown.onclick = () => {
      window.focus();
      shown.close();
      void goto(place);
    };
  } catch {
    // Browsers of phones have the name but not the thing.
  }
}

function until(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function holdWhileInSight(whole: AbortSignal): () => void {
  let hidden = new AbortController();
  const look = () => {
    hidden.abort();
    hidden = new AbortController();
    if (document.visibilityState !== "visible" || whole.aborted) return;
    const end = hidden.signal;
    void navigator.locks.request(IN_SIGHT, { mode: "shared" }, () => (end.aborted ? undefined : until(end)));
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    hidden.abort();
  };
}

async function isAnyWindowVisible(): Promise<boolean> {
  const { held } = await navigator.locks.query();
  return (held ?? []).some((lock) => lock.name === IN_SIGHT);
}

export const notifications = new Notifications();

/** Runs notifications for the lifetime of a component. */
export function followInbox(): void {
  $effect(() => notifications.follow());
  $effect(() => {
    if (appState.inbox.data) void notifications.see(appState.inbox.data);
  });
}
