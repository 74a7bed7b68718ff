//! The result of a log verification in words.
import type { VerifyView } from "../api";
import { count } from "../format";

const many = (number: number) => count(number, "event").replace(/^\d+/, number.toLocaleString("en"));

interface VerificationText {
  head: string;
  lines: string[];
  /** The tables match the log, as far as they were compared. */
  tables: boolean;
}

export function verificationText(found: VerifyView): VerificationText {
  const differ = found.tables ?? [];
  const lines: string[] = [];
  if (!found.ok) {
    if (found.fault) lines.push(found.fault);
    lines.push(`The ${many(found.verified)} before it hold. Keep the database as it is and compare it with a backup.`);
  } else if (found.unproved > 0) {
    lines.push(`The newest ${many(found.unproved)} are not yet proved by anything outside the database.`);
  }
  if (differ.length > 0) {
    lines.push(`These tables do not match the log: ${differ.join(", ")}. \`flower log rebuild\` rebuilds them.`);
  } else if (found.tables) lines.push("The tables match the log.");
  const bad = found.bad_seq ? `Event ${found.bad_seq} is not as it was recorded` : "The log does not hold";
  const good =
    differ.length > 0 ? `All ${many(found.verified)} hold, but the tables differ` : `All ${many(found.verified)} hold`;
  return { head: found.ok ? good : bad, lines, tables: differ.length === 0 };
}
