//! Where toasts lie: near the top, or near the bottom where they would cover what somebody types into.

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Below the heading of a page. */
export const TOP = 60;
/** Above the bar that the rail is on a phone. */
export const BOTTOM = 76;

/** Whether toasts of this size cover a field at the top and do not at the bottom. */
export function belongsLow(toasts: Box, field: Box, windowHeight: number): boolean {
  const beside = field.right <= toasts.left || field.left >= toasts.right;
  const height = toasts.bottom - toasts.top;
  const covers = (top: number) => !beside && field.top < top + height && field.bottom > top;
  return covers(TOP) && !covers(windowHeight - BOTTOM - height);
}
