//! Where everything of the plant is drawn. Wide pages let it grow to the right, narrow ones upwards.
import type { Picture } from "./picture";
import type { Plant } from "./plant";
import { tall } from "./tall";
import { wide } from "./wide";

/** Below this there is no room for a plant that lies. */
const NARROW = 640;

export function pictureOf(plant: Plant, width: number): Picture {
  return width < NARROW ? tall(plant, width) : wide(plant, width);
}
