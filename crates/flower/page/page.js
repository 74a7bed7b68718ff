// The page until bloom is here: all briefs and the newest of the trace, live.
const state = document.getElementById("state");
const say = (text, bad) => { state.textContent = text; state.className = bad ? "bad" : ""; };
const KEY = "flower.session";
const SHOWN = 100;

async function session() {
  const code = new URLSearchParams(location.hash.slice(1)).get("open");
  if (code) {
    history.replaceState(null, "", location.pathname);
    const answer = await fetch("/api/session", { method: "POST", headers: { authorization: `Bearer ${code}` } });
    if (answer.ok) localStorage.setItem(KEY, (await answer.json()).token);
  }
  return localStorage.getItem(KEY);
}

const token = await session();
const ask = (path, options = {}) =>
  fetch(path, { ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });

async function json(path) {
  const answer = await ask(path);
  if (!answer.ok) throw Object.assign(new Error((await answer.json()).error.message), { status: answer.status });
  return answer.json();
}

async function allBriefs() {
  const all = [];
  for (;;) {
    const page = await json(`/api/briefs?after=${all.at(-1)?.number ?? 0}`);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

async function showBriefs() {
  const briefs = await allBriefs();
  const rows = briefs.reverse().map((brief) => {
    const row = document.createElement("tr");
    for (const text of [brief.number, brief.title, brief.kind, brief.status.replace("_", " ")]) {
      row.insertCell().textContent = text;
    }
    return row;
  });
  document.querySelector("#briefs tbody").replaceChildren(...rows);
  document.getElementById("briefs").hidden = rows.length === 0;
  document.getElementById("no-briefs").hidden = rows.length > 0;
}

function showEvent(event) {
  const item = document.createElement("li");
  const about = event.brief ? `#${event.brief} ` : "";
  const text = event.body.text ?? event.body.title ?? (event.body.to ? `${event.body.from} → ${event.body.to}` : "");
  item.textContent = `${about}${event.kind.replaceAll("_", " ")}${text ? `: ${String(text).slice(0, 200)}` : ""}`;
  const by = document.createElement("small");
  by.textContent = `${event.actor.type} · ${event.actor.name} · ${new Date(event.at).toLocaleString()}`;
  item.append(by);
  const list = document.getElementById("trace");
  list.prepend(item);
  while (list.children.length > SHOWN) list.lastChild.remove();
}

async function follow(after) {
  const answer = await ask(`/api/events?after=${after}`);
  if (!answer.ok) throw Object.assign(new Error("not live"), { status: answer.status });
  say("live");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return after;
    text += value;
    const frames = text.split("\n\n");
    text = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").find((line) => line.startsWith("data: "));
      if (!data) continue;
      const event = JSON.parse(data.slice(6));
      after = event.seq;
      showEvent(event);
    }
    await showBriefs();
  }
}

let after = null;
for (;;) {
  try {
    if (!token) throw Object.assign(new Error(), { status: 401 });
    if (after === null) {
      await showBriefs();
      const trace = await json(`/api/trace?limit=${SHOWN}`);
      trace.forEach(showEvent);
      after = trace.at(-1)?.seq ?? 0;
    }
    after = await follow(after);
  } catch (error) {
    if (error.status === 401) {
      say("This page needs a fresh link: run “flower up” in a terminal.", true);
      break;
    }
  }
  say("not live; trying again…", true);
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
