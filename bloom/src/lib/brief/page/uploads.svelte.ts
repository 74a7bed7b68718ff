//! Picture uploads: progress, cancel, retry, remove and undo.
import { toasts } from "../../toasts.svelte";
import { credentials } from "../../api";

export interface Upload {
  id: number;
  name: string;
  /** The address of the local preview. */
  preview: string;
  /** From 0 to 1. */
  progress: number;
  sha256?: string;
  problem?: string;
  /** Another try may succeed. */
  retryable?: boolean;
}

/** The limits of the daemon. */
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_UPLOADS = 20;

export class Uploads {
  all = $state<Upload[]>([]);
  private next = 1;
  private ended = false;
  private files = new Map<number, File>();
  private requests = new Map<number, XMLHttpRequest>();

  get busy(): boolean {
    return this.all.some((upload) => !upload.sha256 && !upload.problem);
  }

  /** The progress of running uploads, from 0 to 1. */
  get progress(): number {
    const under = this.all.filter((upload) => !upload.sha256 && !upload.problem);
    return under.reduce((sum, upload) => sum + upload.progress, 0) / Math.max(under.length, 1);
  }

  /** Those that have arrived. */
  get done(): { id: number; sha256: string }[] {
    return this.all.flatMap(({ id, sha256 }) => (sha256 ? [{ id, sha256 }] : []));
  }

  add(files: Iterable<File>): void {
    for (const file of files) {
      const id = this.next++;
      const upload: Upload = { id, name: file.name || "screenshot", preview: "", progress: 0 };
      if (this.all.length >= MAX_UPLOADS) upload.problem = `at most ${MAX_UPLOADS} pictures at once`;
      else if (!file.type.startsWith("image/")) upload.problem = "not a picture: use PNG, JPEG, WebP or GIF";
      else if (file.size > MAX_BYTES)
        upload.problem = `too large: ${Math.ceil(file.size / 1024 / 1024)} MB, the limit is 10`;
      else upload.preview = URL.createObjectURL(file);
      this.all.push(upload);
      if (!upload.problem) this.send(id, file);
    }
  }

  again(id: number): void {
    const file = this.files.get(id);
    if (!file) return;
    this.change(id, { problem: undefined, retryable: undefined, progress: 0 });
    this.send(id, file);
  }

  /** `fetch` reports no progress of an upload. */
  private send(id: number, file: File): void {
    const request = new XMLHttpRequest();
    this.files.set(id, file);
    this.requests.set(id, request);
    request.open("POST", "/api/images");
    request.setRequestHeader("content-type", "application/octet-stream");
    for (const [name, value] of Object.entries(credentials())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) =>
      this.change(id, { progress: event.lengthComputable ? event.loaded / event.total : 0.5 });
    request.onload = () => this.arrive(id, outcome(request));
    request.onerror = () => this.change(id, { problem: "flower does not answer", retryable: true });
    request.onloadend = () => this.requests.delete(id);
    request.send(file);
  }

  /** The same picture once is enough. */
  private arrive(id: number, found: Partial<Upload>): void {
    if (found.sha256 && this.all.some((one) => one.sha256 === found.sha256)) {
      this.drop([id]);
      toasts.show("This picture is already attached");
    } else this.change(id, found);
  }

  private change(id: number, change: Partial<Upload>): void {
    const upload = this.all.find((one) => one.id === id);
    if (upload) Object.assign(upload, change);
  }

  /** Calls it off, or takes it out; a picture can be brought back. */
  remove(id: number): void {
    const at = this.all.findIndex((one) => one.id === id);
    const gone = this.all[at];
    const file = this.files.get(id);
    this.drop([id]);
    if (!gone || !file) return;
    const undo = () => {
      if (this.ended) return;
      const preview = URL.createObjectURL(file);
      this.all = this.all.toSpliced(at, 0, { id, name: gone.name, preview, progress: 0 });
      this.send(id, file);
    };
    toasts.show(`${gone.name} is removed`, { undo });
  }

  /** The form is gone. */
  end(): void {
    this.ended = true;
    this.drop(this.all.map((one) => one.id));
  }

  /** Removes uploads without a toast. */
  drop(ids: number[]): void {
    for (const upload of this.all.filter((one) => ids.includes(one.id))) {
      this.requests.get(upload.id)?.abort();
      this.files.delete(upload.id);
      if (upload.preview) URL.revokeObjectURL(upload.preview);
    }
    this.all = this.all.filter((one) => !ids.includes(one.id));
  }
}

function outcome(request: XMLHttpRequest): Partial<Upload> {
  let answer: { sha256?: string; error?: { message?: string } } = {};
  try {
    answer = JSON.parse(request.responseText) as typeof answer;
  } catch {
    // It is told by its status.
  }
  if (request.status === 200 && answer.sha256) return { sha256: answer.sha256, progress: 1 };
  const retryable = request.status === 429 || request.status >= 500;
  return { problem: answer.error?.message ?? `flower answered ${request.status}`, retryable };
}
