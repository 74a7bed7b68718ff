//! Exports the log as a file, as a stream where the browser can.
import { raw } from "../api";

const NAME = "flower-log.ndjson";

interface Target {
  createWritable: () => Promise<WritableStream<Uint8Array>>;
}
type Picker = (options: { suggestedName: string }) => Promise<Target>;

class Export {
  /** Bytes so far, while it is under way. */
  bytes = $state<number>();

  /** Resolves to whether it was saved; the operator can cancel. */
  async save(): Promise<boolean> {
    const pick = (window as { showSaveFilePicker?: Picker }).showSaveFilePicker;
    let target: Target | undefined;
    if (pick) {
      try {
        target = await pick.call(window, { suggestedName: NAME });
      } catch {
        return false;
      }
    }
    this.bytes = 0;
    try {
      const answer = await raw("/api/log/export");
      const counted = answer.body!.pipeThrough(this.counter());
      if (target) await counted.pipeTo(await target.createWritable());
      else download(await new Response(counted).blob());
    } finally {
      this.bytes = undefined;
    }
    return true;
  }

  private counter(): TransformStream<Uint8Array, Uint8Array> {
    return new TransformStream({
      transform: (chunk, out) => {
        this.bytes = (this.bytes ?? 0) + chunk.byteLength;
        out.enqueue(chunk);
      },
    });
  }
}

function download(file: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = NAME;
  // eslint-disable-next-line no-restricted-syntax -- the platform has no other way to save a file
  link.click();
  // The browser takes it from here; a minute is more than it needs to begin.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export const logExport = new Export();
