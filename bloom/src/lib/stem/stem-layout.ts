//! The layout of the picture: to the right on wide pages, upwards on narrow ones.
import type { Picture } from "./stem-picture";
import type { Plant } from "./plant";
import { verticalLayout } from "./vertical-layout";
import { horizontalLayout } from "./horizontal-layout";

/** Below this there is no room for a plant that lies. */
const NARROW = 640;

export function pictureOf(plant: Plant, width: number): Picture {
  return width < NARROW ? verticalLayout(plant, width) : horizontalLayout(plant, width);
}
