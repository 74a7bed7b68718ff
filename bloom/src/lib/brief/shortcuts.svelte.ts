//! The shortcuts of a brief. Offering them is no reason to offer them again when somebody else offers theirs.
import { untrack } from "svelte";
import { keys, type Deed } from "../keys.svelte";

/** Offers deeds for as long as the component that asks is there. */
export function shortcuts(deeds: Deed[]): void {
  $effect(() => untrack(() => keys.offer(deeds)));
}
