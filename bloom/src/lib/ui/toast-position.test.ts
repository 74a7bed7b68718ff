import { describe, expect, test } from "vitest";
import { belongsLow, toastTop } from "./toast-position";

const toasts = { left: 1040, right: 1424, top: 60, bottom: 160 };
const field = (left: number, top: number, height = 30) => ({ left, right: left + 300, top, bottom: top + height });

describe("toasts", () => {
  test("lie near the top, unless they would cover what is typed into", () => {
    expect(belongsLow(toasts, field(1100, 100), 60, 900)).toBe(true);
    expect(belongsLow(toasts, field(1100, 400), 60, 900)).toBe(false);
    expect(belongsLow(toasts, field(200, 100), 60, 900)).toBe(false);
  });

  test("stay at the top where the bottom is no better", () => {
    expect(belongsLow(toasts, field(1000, 50, 800), 60, 900)).toBe(false);
  });

  test("lie over the heading only on a phone", () => {
    expect([toastTop(390), toastTop(1440)]).toEqual([8, 128]);
  });

  test("stay low while they lie there", () => {
    expect(belongsLow({ ...toasts, top: 724, bottom: 824 }, field(1100, 100), 60, 900)).toBe(true);
  });
});
