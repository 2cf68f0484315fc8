// What the page does beyond showing: asks the API, says what came of it, and shows anew what changed.
const project = document.body.dataset.project
const said = document.getElementById("said")
const dialog = document.getElementById("ask")
let quiet = 0

function say(text) {
  said.textContent = text
  clearTimeout(quiet)
  quiet = setTimeout(() => { said.textContent = "" }, 9000)
}

function address(path) {
  const found = new URL(`/api/v1${path}`, location.origin)
  if (project) found.searchParams.set("project", project)
  return found
}

async function call(method, path, body, headers = {}) {
  const answer = await fetch(address(path), {
    method,
    headers: body === undefined ? headers : { "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const told = await answer.json().catch(() => ({ message: "the answer cannot be read" }))
  if (!answer.ok) throw Object.assign(new Error(told.message ?? `the server answered ${answer.status}`), { status: answer.status })
  return told
}

// Asks in a dialog: gives the text that was typed, true where nothing was to be typed, or null.
function ask(title, { text, detail, yes = "OK", danger = false } = {}) {
  document.getElementById("ask-title").textContent = title
  const body = document.getElementById("ask-body")
  body.replaceChildren()
  if (detail) {
    const shown = document.createElement("p")
    shown.textContent = detail
    body.append(shown)
  }
  let field = null
  if (text !== undefined) {
    const label = document.createElement("label")
    label.textContent = "Text"
    field = document.createElement("textarea")
    field.rows = 4
    field.value = text
    label.append(field)
    body.append(label)
  }
  const button = document.getElementById("ask-yes")
  button.textContent = yes
  button.classList.toggle("danger", danger)
  dialog.returnValue = ""
  dialog.showModal()
  ;(field ?? button).focus()
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? (field ? field.value : true) : null), { once: true })
  })
}

const id = (line) => encodeURIComponent(line.dataset.id)
const undoable = (told) => (told.undo_with ? ` Undo with ${told.undo_with}.` : "")
const deeds = {
  async confirm(line) { await call("POST", `/records/${id(line)}/confirm`); return "Kept, with high confidence." },
  async edit(line) {
    const text = await ask("Edit", { text: line.dataset.text, yes: "Save" })
    if (text === null) return null
    return `Saved.${undoable(await call("PATCH", `/records/${id(line)}`, { text, was: line.dataset.was }))}`
  },
  async forget(line) {
    const would = await call("GET", `/records/${id(line)}/forget`)
    const sure = await ask("Forget this for good?", { detail: `${would.text}\n\nIt goes from files, log, backups and search, and is not learnt again. This cannot be undone.`, yes: "Forget", danger: true })
    if (sure === null) return null
    const told = await call("DELETE", `/records/${id(line)}`)
    return `Forgotten. ${(told.notes ?? []).join(" ")}`
  },
  async accept(line) { await call("POST", `/inbox/${encodeURIComponent(line.dataset.inbox)}`, { how: "accept" }); return "Accepted." },
  async reaccept(line) {
    const text = await ask("Reword and accept", { text: line.dataset.text, yes: "Accept" })
    if (text === null) return null
    await call("POST", `/inbox/${encodeURIComponent(line.dataset.inbox)}`, { how: "accept", text })
    return "Accepted in your words."
  },
  async reject(line) { await call("POST", `/inbox/${encodeURIComponent(line.dataset.inbox)}`, { how: "reject" }); return "Rejected. It is not learnt again." },
  async set(line) {
    const text = await ask(line.dataset.setting, { text: line.dataset.text, yes: "Save" })
    if (text === null) return null
    await call("PUT", `/settings/${line.dataset.setting}`, { value: text })
    return "Saved."
  },
  async unset(line) { await call("PUT", `/settings/${line.dataset.setting}`, { value: null }); return "The default holds again." },
}

async function attempt(what) {
  try {
    const text = await what()
    if (text !== null) { say(text); await anew() }
  } catch (error) { say(`Not done: ${error.message}`) }
}

// Shows the page anew in place; what is being typed or read in a dialog stays.
async function anew() {
  if (dialog.open || document.querySelector("#file")) return
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } })
  if (!answer.ok) return
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html")
  const at = document.activeElement?.closest("[data-id],[data-inbox]")
  const place = at ? [...document.querySelectorAll(".line")].indexOf(at) : -1
  const typing = document.activeElement?.id && document.activeElement.matches("input,textarea") ? document.activeElement.id : ""
  const value = typing ? document.activeElement.value : ""
  for (const part of ["main", "header nav"]) document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)))
  if (typing) { const field = document.getElementById(typing); if (field) { field.value = value; field.focus() } }
  else if (place >= 0) { const lines = document.querySelectorAll(".line"); lines[Math.min(place, lines.length - 1)]?.focus() }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button")
  if (!button) return
  if (button.dataset.do) attempt(() => deeds[button.dataset.do](button.closest(".line")))
  else if (button.dataset.undo) attempt(async () => { await call("POST", "/undo", { id: button.dataset.undo }); return "Undone." })
  else if (button.dataset.put) attempt(async () => { await call("PUT", `/settings/${button.dataset.put}`, { value: button.dataset.value || null }); return "Saved." })
  else if (button.dataset.switch) attempt(async () => { await call("POST", "/memory", { on: button.dataset.switch === "true" }); return "Saved." })
})

document.addEventListener("submit", (event) => {
  const form = event.target
  if (form.id === "remember") {
    event.preventDefault()
    const field = form.elements.text
    attempt(async () => {
      const told = await call("POST", "/records", { text: field.value })
      field.value = ""
      return `Saved to ${told.path}${told.line ? `:${told.line}` : ""}.${undoable(told)}`
    })
  } else if (form.id === "file") {
    event.preventDefault()
    save(form)
  }
})

async function save(form) {
  const field = document.getElementById("file-text")
  const path = `/documents/${form.dataset.name.split("/").map(encodeURIComponent).join("/")}`
  try {
    const told = await call("PUT", path, { text: field.value }, { "If-Match": `"${form.dataset.etag}"` })
    form.dataset.etag = told.etag
    document.getElementById("conflict").hidden = true
    say(`Saved.${undoable(told)}`)
  } catch (error) {
    if (error.status === 409) {
      const theirs = await call("GET", path)
      document.getElementById("theirs").value = theirs.text
      document.getElementById("conflict").hidden = false
      form.dataset.etag = theirs.etag
    }
    say(`Not saved: ${error.message}`)
  }
}

document.addEventListener("change", (event) => { if (event.target.matches("[data-submit]")) event.target.form.requestSubmit() })

let typed = 0
document.addEventListener("input", (event) => {
  const field = event.target
  if (field.dataset.filter) {
    const wanted = field.value.toLowerCase()
    for (const each of document.querySelectorAll(field.dataset.filter)) {
      each.hidden = !each.textContent.toLowerCase().includes(wanted)
      if (wanted && !each.hidden) each.closest("details").open = true
    }
  } else if (field.type === "search" && field.form?.matches("[data-live]")) {
    clearTimeout(typed)
    typed = setTimeout(async () => {
      const wanted = new URL(field.form.action)
      wanted.search = new URLSearchParams(new FormData(field.form)).toString()
      const answer = await fetch(wanted, { headers: { Accept: "text/html" } })
      if (!answer.ok) return
      history.replaceState(null, "", wanted)
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html")
      document.getElementById("results").replaceWith(document.adoptNode(fresh.getElementById("results")))
    }, 150)
  }
})

const keys = "t b m s k i h e g go to a view · / search · j k move · a accept · e edit · r reject · x forget · u undo the last change · ? this"
let going = false
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input,textarea,select") || dialog.open) return
  const view = document.querySelector(`header nav a[data-key="${CSS.escape(event.key)}"]`)
  if (going && view) { going = false; view.click(); return }
  going = event.key === "g"
  const lines = [...document.querySelectorAll(".line:not([hidden])")]
  const line = document.activeElement?.closest(".line")
  const press = (name) => line?.querySelector(`[data-do="${name}"]`)?.click()
  const move = (step) => {
    const place = line ? lines.indexOf(line) + step : 0
    lines[Math.max(0, Math.min(lines.length - 1, place))]?.focus()
  }
  if (event.key === "/") { event.preventDefault(); document.querySelector("input[type=search], #remember-text")?.focus() }
  else if (event.key === "j") move(1)
  else if (event.key === "k") move(-1)
  else if (event.key === "a") press("accept")
  else if (event.key === "e") { event.preventDefault(); press(line?.dataset.inbox ? "reaccept" : "edit") }
  else if (event.key === "r") press("reject")
  else if (event.key === "x") press("forget")
  else if (event.key === "u") attempt(async () => {
    if ((await ask("Undo the last change?", { yes: "Undo" })) === null) return null
    await call("POST", "/undo", {})
    return "The last change is undone."
  })
  else if (event.key === "?") ask("Keys", { detail: `g, then: ${keys}` })
})

// A browser allows few connections to one server, so a page that nobody looks at lets go of its own.
let events = null
function listen() {
  if (document.hidden) { events?.close(); events = null; return }
  if (events) return
  events = new EventSource(address("/events"))
  events.addEventListener("changed", () => anew())
}
document.addEventListener("visibilitychange", () => { const was = events; listen(); if (!was && events) anew() })
listen()
