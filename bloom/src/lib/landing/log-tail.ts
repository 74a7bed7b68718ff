//! The end of a growing text, with bounded length.

const MAX_LENGTH = 256 * 1024;

export class LogTail {
  text = "";
  /** The beginning was let go. */
  cut = false;
  /** How many bytes were read. */
  at = 0;
  private decoder = new TextDecoder();

  take(bytes: Uint8Array): void {
    this.at += bytes.length;
    this.text += this.decoder.decode(bytes, { stream: true });
    // Not on every call, because slicing copies.
    if (this.text.length <= 2 * MAX_LENGTH) return;
    const from = this.text.length - MAX_LENGTH;
    const line = this.text.indexOf("\n", from);
    this.text = this.text.slice(line < 0 ? from : line + 1);
    this.cut = true;
  }
}
