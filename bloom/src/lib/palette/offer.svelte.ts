//! Deeds offered by a part of the page. Offering reads and writes the list of all deeds, so that it must not be
//! followed: two parts that follow it would wake each other for ever.
import { untrack } from "svelte";
import { keys, type Deed } from "../keys.svelte";

/** Offers deeds for as long as the component that asks is there. */
export function offer(deeds: () => Deed[]): void {
  $effect(() => {
    const own = deeds();
    return untrack(() => keys.offer(own));
  });
}
