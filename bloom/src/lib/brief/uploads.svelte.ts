//! Pictures on their way to flower: each with its progress, to be called off or taken out again.
import { credentials } from "../api";

export interface Upload {
  id: number;
  name: string;
  /** What is seen meanwhile. */
  preview: string;
  /** From 0 to 1. */
  progress: number;
  sha256?: string;
  problem?: string;
}

/** flower takes no larger ones, and no more at once. */
const MOST_BYTES = 10 * 1024 * 1024;
const MOST = 20;

export class Uploads {
  all = $state<Upload[]>([]);
  private next = 1;
  private requests = new Map<number, XMLHttpRequest>();

  get busy(): boolean {
    return this.all.some((upload) => !upload.sha256 && !upload.problem);
  }

  /** Hashes of those that have arrived. */
  get done(): string[] {
    return this.all.flatMap((upload) => (upload.sha256 ? [upload.sha256] : []));
  }

  add(files: Iterable<File>): void {
    for (const file of files) {
      const id = this.next++;
      const upload: Upload = { id, name: file.name || "screenshot", preview: "", progress: 0 };
      if (this.all.length >= MOST) upload.problem = `no more than ${MOST} pictures at once`;
      else if (!file.type.startsWith("image/")) upload.problem = "that is no picture: PNG, JPEG, WebP or GIF";
      else if (file.size > MOST_BYTES)
        upload.problem = `too large: ${Math.ceil(file.size / 1024 / 1024)} MB, and 10 are allowed`;
      else upload.preview = URL.createObjectURL(file);
      this.all.push(upload);
      if (!upload.problem) this.send(id, file);
    }
  }

  /** `fetch` tells nothing of how far it is. */
  private send(id: number, file: File): void {
    const request = new XMLHttpRequest();
    this.requests.set(id, request);
    request.open("POST", "/api/images");
    request.setRequestHeader("content-type", "application/octet-stream");
    for (const [name, value] of Object.entries(credentials())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) =>
      this.change(id, { progress: event.lengthComputable ? event.loaded / event.total : 0.5 });
    request.onload = () => this.change(id, outcome(request));
    request.onerror = () => this.change(id, { problem: "flower does not answer; take it out and paste it again" });
    request.onloadend = () => this.requests.delete(id);
    request.send(file);
  }

  private change(id: number, change: Partial<Upload>): void {
    const upload = this.all.find((one) => one.id === id);
    if (upload) Object.assign(upload, change);
  }

  /** Calls it off, or takes it out. */
  remove(id: number): void {
    this.requests.get(id)?.abort();
    const gone = this.all.find((one) => one.id === id);
    if (gone?.preview) URL.revokeObjectURL(gone.preview);
    this.all = this.all.filter((one) => one.id !== id);
  }

  clear(): void {
    for (const upload of [...this.all]) this.remove(upload.id);
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
  return { problem: answer.error?.message ?? `flower answered ${request.status}` };
}
