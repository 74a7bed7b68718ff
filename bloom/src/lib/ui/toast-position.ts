//! Position of toasts: near the top, or near the bottom where they would cover the focused field.

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const PHONE = 760;
/** Above the bar that the rail is on a phone. */
export const BOTTOM = 76;

/** Below the heading of a page and its buttons; on a phone, where there is no room beside them, over the heading. */
export function toastTop(windowWidth: number): number {
  return windowWidth <= PHONE ? 8 : 128;
}

/** Whether toasts of this size cover a field at the top and do not at the bottom. */
export function belongsLow(toasts: Box, field: Box, top: number, windowHeight: number): boolean {
  const beside = field.right <= toasts.left || field.left >= toasts.right;
  const height = toasts.bottom - toasts.top;
  const covers = (at: number) => !beside && field.top < at + height && field.bottom > at;
  return covers(top) && !covers(windowHeight - BOTTOM - height);
}
