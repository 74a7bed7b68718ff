//! Markdown to HTML that does nothing: no script, no style, no request. Pictures come only from flower's own store.
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { raw } from "./api";
import { markHiddenCharacters } from "./hidden-characters";

/** HTML inside of Markdown is shown as what was written: agents read it, comments included, so people see it too. */
const marked = new Marked({
  gfm: true,
  breaks: false,
  renderer: {
    html: ({ text, block }) => (block ? `<pre><code>${escaped(text.trimEnd())}</code></pre>` : escaped(text)),
  },
});

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const TAGS =
  "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr img input li mark ol p pre span strong sub sup table tbody td th thead tr ul".split(
    " ",
  );
const ATTRIBUTES = ["href", "src", "alt", "title", "start", "align", "checked", "disabled", "type"];
/** Pictures of flower's own, by their hash. */
const PICTURE = /^(?:\/api\/images\/|image:)([0-9a-f]{64})$/;

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node instanceof HTMLAnchorElement) mendLink(node);
  if (node instanceof HTMLImageElement) mendPicture(node);
  if (node instanceof HTMLInputElement) {
    if (node.type !== "checkbox") node.remove();
    node.disabled = true;
    node.setAttribute("aria-label", node.checked ? "done" : "to do");
  }
});

function mendLink(link: HTMLAnchorElement): void {
  const target = link.getAttribute("href") ?? "";
  // As a browser reads it: `//host`, `/\host` and a tab between the two all lead to another host.
  const leadsTo = URL.parse(target, location.origin);
  if (/^[#/]/.test(target) && leadsTo?.origin === location.origin) return;
  if (!leadsTo || !/^(https?:|mailto:|[/])/i.test(target) || !/^(https?|mailto):$/.test(leadsTo.protocol)) {
    link.removeAttribute("href");
    return;
  }
  link.rel = "noopener noreferrer nofollow";
  link.target = "_blank";
  // What a link says and where it leads are two things.
  if (!link.title) link.title = leadsTo.href;
}

function mendPicture(picture: HTMLImageElement): void {
  const source = picture.getAttribute("src") ?? "";
  const hash = PICTURE.exec(source)?.[1];
  if (hash) {
    picture.removeAttribute("src");
    picture.dataset.picture = hash;
    return;
  }
  const note = document.createElement("span");
  note.textContent = `[picture${picture.alt ? ` “${picture.alt}”` : ""} of another host, not loaded: ${source.slice(0, 200)}]`;
  picture.replaceWith(note);
}

export function render(text: string): string {
  const html = marked.parse(text, { async: false });
  const clean = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ADD_ATTR: ["target", "rel", "data-picture"],
    RETURN_DOM_FRAGMENT: true,
  });
  lowerHeadings(clean);
  markHiddenCharacters(clean);
  const box = document.createElement("div");
  box.append(clean);
  return box.innerHTML;
}

/** The page has its own first and second level; what is written begins below them. */
function lowerHeadings(root: DocumentFragment): void {
  for (const heading of root.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Math.min(Number(heading.tagName[1]) + 2, 6);
    const lower = document.createElement(`h${level}`);
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
}

const pictures = new Map<string, Promise<string>>();
const MAX_PICTURES = 200;

/** The address of a picture in this page; it is read with the session's token, which an `<img>` cannot send. */
export function picture(hash: string): Promise<string> {
  let known = pictures.get(hash);
  if (!known) {
    known = raw(`/api/images/${hash}`)
      .then((answer) => answer.blob())
      .then((blob) => URL.createObjectURL(blob));
    known.catch(() => pictures.delete(hash));
    pictures.set(hash, known);
    if (pictures.size > MAX_PICTURES) {
      const [oldest, address] = pictures.entries().next().value!;
      pictures.delete(oldest);
      void address.then((url) => URL.revokeObjectURL(url)).catch(() => undefined);
    }
  }
  return known;
}

/** Fills in the pictures of what [`render`] made. */
export function showPictures(_html: string): (node: HTMLElement) => void {
  return (node) => {
    for (const image of node.querySelectorAll<HTMLImageElement>("img[data-picture]")) {
      picture(image.dataset.picture!).then(
        (address) => (image.src = address),
        () => (image.alt = "picture not found"),
      );
    }
  };
}
