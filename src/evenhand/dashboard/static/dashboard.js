// The little that pages do by themselves: live progress, answers while a cell is edited, faults while a rule is written.
// Everything works without it, by sending forms.
"use strict";

const token = document.querySelector('meta[name="form-token"]').content;

function post(address, fields) {
  return fetch(address, {
    method: "POST",
    headers: { "x-evenhand-form": token, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields),
    redirect: "error",
  });
}

function follow() {
  const bars = new Map([...document.querySelectorAll("[data-live]")].map((bar) => [bar.dataset.live, bar]));
  if (!bars.size || document.querySelector("[data-settled]")) return;
  const seen = new Set();
  const starts = new Map();
  // How long it will take at the pace since this page was opened, or since a new part began whose share is smaller; empty until known.
  const left = (id, share) => {
    if (share === null) return "";
    if (!starts.has(id) || share < starts.get(id).share) starts.set(id, { share, at: performance.now() });
    const gone = share - starts.get(id).share;
    const seconds = ((1 - share) * (performance.now() - starts.get(id).at)) / gone / 1000;
    if (gone <= 0 || !Number.isFinite(seconds)) return "";
    const shown = seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
    return `; about ${shown} left`;
  };
  const events = new EventSource("/events");
  events.onmessage = (message) => {
    const told = JSON.parse(message.data);
    for (const [id, bar] of bars) {
      if (id in told) {
        seen.add(id);
        const progress = bar.querySelector("progress");
        if (told[id].share === null) progress.removeAttribute("value");
        else progress.value = told[id].share;
        bar.querySelector(".bar-words").textContent = told[id].words + left(id, told[id].share);
      } else if (seen.has(id)) {
        events.close();
        location.reload();
        return;
      }
    }
  };
  addEventListener("pagehide", () => events.close());
}

function askWhileEditing() {
  const form = document.getElementById("what-if");
  const answers = document.getElementById("answers");
  if (!form || !answers) return;
  let latest = 0;
  async function ask() {
    const mine = ++latest;
    const fields = [...new FormData(form)];
    const answer = await post(form.getAttribute("action"), [...fields, ["part", "answers"]]);
    if (mine !== latest || !answer.ok) return;
    answers.innerHTML = await answer.text(); // our own server's page, escaped there; the policy allows no script in it
    for (const field of form.querySelectorAll(".cell-field")) {
      const input = field.querySelector("input, select");
      field.classList.toggle("changed", input.dataset.begin !== input.value);
    }
  }
  for (const input of form.querySelectorAll("input, select")) {
    const begin = input.tagName === "SELECT" ? [...input.options].find((o) => o.defaultSelected)?.value ?? input.value : input.defaultValue;
    input.dataset.begin = input.closest(".changed") ? "" : begin;
    input.addEventListener("change", ask);
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
}

function checkWhileWriting() {
  const text = document.getElementById("rules");
  const numbers = document.getElementById("numbers");
  if (!text || !numbers) return;
  const box = document.getElementById("fault");
  let wrong = Number(text.dataset.line || 0);
  let timer = 0;
  function draw() {
    const count = text.value.split("\n").length;
    numbers.replaceChildren();
    for (let line = 1; line <= count; line++) {
      const mark = document.createElement(line === wrong ? "b" : "span");
      mark.textContent = line === wrong ? `✕ ${line}` : String(line);
      numbers.append(mark, "\n");
    }
    numbers.style.height = `${text.clientHeight}px`;
    numbers.scrollTop = text.scrollTop;
  }
  async function check() {
    const answer = await post(document.querySelector("[data-check]").dataset.check, [["text", text.value]]);
    if (!answer.ok) return;
    const told = await answer.json();
    wrong = told.line;
    box.hidden = !told.message;
    text.setAttribute("aria-invalid", String(Boolean(told.message)));
    document.getElementById("fault-place").textContent = told.line ? `Line ${told.line}` : "The file";
    document.getElementById("fault-message").textContent = told.message;
    document.getElementById("fault-line").textContent = told.line ? (text.value.split("\n")[told.line - 1] || "").slice(0, 400) : "";
    draw();
  }
  text.addEventListener("input", () => {
    draw();
    clearTimeout(timer);
    timer = setTimeout(check, 400);
  });
  text.addEventListener("scroll", () => (numbers.scrollTop = text.scrollTop));
  new ResizeObserver(draw).observe(text);
  draw();
}

follow();
askWhileEditing();
checkWhileWriting();
