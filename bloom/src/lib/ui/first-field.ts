//! Chooses the element that gets the focus when a dialog opens.

const FIELD = ":is(input, textarea, select):not(:disabled, [type='hidden'])";

/**
 * The element that asks for the focus (`autofocus`), else the first field, else the first of the dialog's buttons, which is
 * the one that leaves it: a stray space or Enter then decides nothing. In a group of radio buttons it is the chosen one:
 * Tab would go there too, and arrows go on from it.
 */
export function firstField(box: ParentNode): HTMLElement | null {
  const wanted = box.querySelector<HTMLElement>("[autofocus]");
  if (wanted) return wanted;
  const fields = [...box.querySelectorAll<HTMLInputElement>(FIELD)];
  const first = fields.find((field) => field.checkVisibility());
  if (!first) return box.querySelector<HTMLElement>("[data-dialog-buttons] button");
  if (first.type !== "radio") return first;
  return fields.find((field) => field.type === "radio" && field.name === first.name && field.checked) ?? first;
}
