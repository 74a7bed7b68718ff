//! Text of the daemon's that may be of any length: read up to a limit.
import { raw } from "../api";

const MOST = 12 * 1024 * 1024;

export interface Some {
  text: string;
  /** There was more. */
  cut: boolean;
}

export async function readSome(path: string, most = MOST): Promise<Some> {
  const answer = await raw(path);
  const reader = answer.body?.getReader();
  // Nothing that a file has is left out, not even a mark at its beginning.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  let bytes = 0;
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return { text: text + decoder.decode(), cut: false };
    bytes += value.length;
    text += decoder.decode(value, { stream: true });
    if (bytes > most) {
      await reader?.cancel();
      return { text, cut: true };
    }
  }
}
