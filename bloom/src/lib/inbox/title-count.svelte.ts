//! The number of waiting items in the title of the page: `(3) Briefs · flower`.
import { appState } from "../app-state.svelte";

export function counted(title: string, waiting: number): string {
  const bare = title.replace(/^\(\d+\) /, "");
  return waiting > 0 ? `(${waiting}) ${bare}` : bare;
}

/** Keeps the count in the title of every page, for the lifetime of the component that calls it. */
export function countInTitle(): void {
  $effect(() => {
    const waiting = appState.inbox.data?.length ?? 0;
    const keep = () => {
      const wanted = counted(document.title, waiting);
      if (wanted !== document.title) document.title = wanted;
    };
    keep();
    const watch = new MutationObserver(keep);
    watch.observe(document.head, { childList: true, characterData: true, subtree: true });
    return () => watch.disconnect();
  });
}
