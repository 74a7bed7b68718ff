//! The end of a text that grows: only so much of it is kept.

const MOST = 256 * 1024;

export class Tail {
  text = "";
  /** The beginning was let go. */
  cut = false;
  /** How many bytes were read. */
  at = 0;
  private decoder = new TextDecoder();

  take(bytes: Uint8Array): void {
    this.at += bytes.length;
    this.text += this.decoder.decode(bytes, { stream: true });
    // Not at every line: what is let go is copied.
    if (this.text.length <= 2 * MOST) return;
    const from = this.text.length - MOST;
    const line = this.text.indexOf("\n", from);
    this.text = this.text.slice(line < 0 ? from : line + 1);
    this.cut = true;
  }
}
