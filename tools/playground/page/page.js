// The page: an editor, the output of Python for its text, and links that contain a text.
"use strict";

const $ = (id) => document.getElementById(id);
const source = $("source");
const DELAY_MS = 400; // between a keystroke and a run
const STYLE = `<style>:root{color-scheme:light dark}body{margin:.6rem;font:14px/1.45 system-ui,sans-serif}
pre{margin:.3rem 0;font:12px/1.45 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow:auto}
h2,h3{font-size:1em;margin:.8rem 0 .2rem}p{margin:.2rem 0}
svg{max-width:max(100%,34rem);height:auto}iframe{width:100%;border:0;background:#fff;height:calc(100vh - 1.2rem)!important}</style>`;

let worker; // Python
let busy = true; // it is loading or running
let waiting = false; // for it to become free
let parts = {}; // HTML by the titles of tabs
let chosen = "Results";
let overviewStyle = "";
let begun = 0; // loading Python
let loading = 0; // how long that took, in milliseconds
let firstLoad = 0; // seconds to the first result
let timer = 0;
let asked = 0;
let trusted = true; // a text from a link runs only when the user says so

async function start() {
  begun = performance.now();
  const text = await (await fetch("worker.js")).text();
  // From a blob, so that this page's loading policy applies to Python as well.
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  busy = true;
  worker = new Worker(address);
  worker.onmessage = ({ data }) => receive(data);
  worker.onerror = (error) => say(`Python stopped: ${error.message}`);
  worker.postMessage({ base: location.href.split("#")[0] });
  say("Loading Python ...");
}

function receive(data) {
  busy = false;
  $("stop").hidden = true;
  if (data.failure) {
    say(`Python stopped: ${data.failure.trim().split("\n").at(-1)}`);
    document.body.dataset.state = "failed";
    return;
  }
  if (data.ready) {
    loading = performance.now() - begun;
    if (!trusted) say("Python is ready. Look at the text, then run it.");
    else waiting = true;
  }
  if (data.shown) show(JSON.parse(data.shown));
  if (waiting) run();
}

function run() {
  clearTimeout(timer);
  trusted = true;
  waiting = busy;
  if (busy) return;
  busy = true;
  asked = performance.now();
  document.body.dataset.state = "running";
  setTimeout(() => ($("stop").hidden = !busy), 1000);
  worker.postMessage({ source: source.value });
}

function stop() {
  worker.terminate();
  $("stop").hidden = true;
  trusted = false; // what does not end is not restarted until it is edited
  start();
}

function show(shown) {
  const seconds = (performance.now() - asked) / 1000;
  if (!firstLoad) {
    firstLoad = loading / 1000 + seconds;
    facts();
  }
  $("part").classList.toggle("old", shown.failed);
  parts = shown.failed ? { ...parts, ...shown.parts } : shown.parts;
  if (shown.failed) chosen = "Results";
  listFindings(shown);
  numberLines(shown.findings);
  listTabs();
  showPart(shown.failed);
  say(`${shown.name || "the file"}: ${shown.failed ? "fails" : "done"} in ${seconds.toFixed(2)} s`);
  document.body.dataset.seconds = seconds;
  document.body.dataset.first = firstLoad;
  document.body.dataset.state = shown.failed ? "failed" : "done";
}

function facts() {
  const bytes = performance
    .getEntriesByType("resource")
    .reduce((sum, each) => sum + each.decodedBodySize, 0);
  const size = Math.max(Number(document.body.dataset.size ?? 0), bytes) / 1e6;
  $("facts").textContent = `First result after ${firstLoad.toFixed(1)} s; ${size.toFixed(1)} MB.`;
}

function listFindings(shown) {
  const items = shown.findings.map((found) => {
    const button = document.createElement("button");
    const kind = document.createElement("b");
    kind.textContent = found.line ? `${found.severity}, line ${found.line}: ` : `${found.severity}: `;
    button.append(kind, found.message);
    if (found.hint) {
      const hint = document.createElement("small");
      hint.textContent = `hint: ${found.hint}`;
      button.append(hint);
    }
    button.onclick = () => found.line && goTo(found.line);
    const item = document.createElement("li");
    item.className = found.severity;
    item.append(button);
    return item;
  });
  if (!items.length) {
    const fine = document.createElement("li");
    fine.className = "fine";
    fine.textContent = `No findings: ${Object.keys(shown.checks).join(", ")} checked.`;
    items.push(fine);
  }
  $("findings").replaceChildren(...items);
}

function goTo(line) {
  const before = source.value.split("\n").slice(0, line - 1);
  const begin = before.reduce((sum, each) => sum + each.length + 1, 0);
  source.focus();
  source.setSelectionRange(begin, begin + source.value.split("\n")[line - 1].length);
  source.scrollTop = Math.max(0, (line - 6) * 19.5);
}

function numberLines(findings = []) {
  const worst = new Map();
  for (const found of findings) {
    if (worst.get(found.line) !== "error") worst.set(found.line, found.severity);
  }
  const rows = source.value.split("\n").map((_, index) => {
    const row = document.createElement("span");
    row.className = worst.get(index + 1) ?? "";
    row.textContent = `${index + 1}\n`;
    return row;
  });
  $("lines").replaceChildren(...rows);
  $("lines").scrollTop = source.scrollTop;
}

function listTabs() {
  if (!(chosen in parts)) chosen = "Results";
  const buttons = Object.keys(parts).map((title) => {
    const button = document.createElement("button");
    button.role = "tab";
    button.textContent = title;
    button.ariaSelected = String(title === chosen);
    button.onclick = () => {
      chosen = title;
      listTabs();
      showPart(false);
    };
    return button;
  });
  $("tabs").replaceChildren(...buttons);
}

function showPart(failed) {
  $("part").classList.toggle("old", failed && chosen !== "Results");
  // Without scripts or permissions: a program's output can only be displayed.
  $("part").srcdoc = `<!doctype html>${STYLE}<style>${overviewStyle}</style>${parts[chosen] ?? ""}`;
}

function say(text) {
  $("status").textContent = text;
}

// A text in a link: deflated, in the URL-safe alphabet.
async function pass(bytes, through) {
  const stream = new Blob([bytes]).stream().pipeThrough(through);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function packed(text) {
  const bytes = await pass(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const characters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(characters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  const characters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(characters, (each) => each.charCodeAt(0));
  return new TextDecoder().decode(await pass(bytes, new DecompressionStream("deflate-raw")));
}

async function share() {
  history.replaceState(null, "", `#${await packed(source.value)}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is in the clipboard; the text is in it.");
  } catch {
    say("The address of this page holds the text now.");
  }
}

async function open() {
  const files = await (await fetch("files.json")).json();
  document.body.dataset.size = files.size;
  overviewStyle = files.style;
  for (const { name, title } of files.programs) $("examples").add(new Option(title, name));
  const put = (text) => {
    source.value = text;
    numberLines();
  };
  $("examples").onchange = () => {
    const picked = files.programs.find((each) => each.name === $("examples").value);
    if (!picked) return;
    history.replaceState(null, "", location.pathname);
    put(picked.text);
    run();
  };
  put(files.programs[0].text);
  const fragment = location.hash.slice(1);
  if (fragment) {
    try {
      put(await unpacked(fragment));
      trusted = false;
      $("examples").add(new Option("From the link", "", true, true), 0);
    } catch {
      say("The link holds no text that can be read.");
    }
  }
}

source.oninput = () => {
  numberLines();
  clearTimeout(timer);
  timer = setTimeout(run, DELAY_MS);
};
source.onscroll = () => ($("lines").scrollTop = source.scrollTop);
source.onkeydown = (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
  if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey) {
    event.preventDefault();
    document.execCommand("insertText", false, "    ");
  }
};
$("run").onclick = run;
$("stop").onclick = stop;
$("share").onclick = share;
window.onhashchange = () => location.reload();

if (location.protocol === "file:") {
  say("Browsers start no Python from a folder. Serve it: python -m http.server -d build/site");
} else {
  open()
    .then(start)
    .catch((error) => say(`This page could not be loaded: ${error.message}`));
}
