// byheart for opencode: hands a session what memory holds, and notes when it pauses. Written by `byheart install`.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = {{command}}
const VARIABLES = {{variables}}

// Runs a hook of byheart's and gives what it prints; nothing where anything goes wrong.
function hook(event, told) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", event, "--client", "opencode"], {
      env: { ...process.env, ...VARIABLES },
      stdio: ["pipe", "pipe", "ignore"],
    })
    let text = ""
    const timer = setTimeout(() => child.kill(), 10_000)
    child.stdout.on("data", (part) => (text += part))
    child.on("error", () => resolve(""))
    child.on("close", () => (clearTimeout(timer), resolve(text)))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(told))
  })
}

export const Byheart = async ({ directory, worktree }) => {
  const cwd = directory || worktree || process.cwd()
  const briefs = new Map()
  // Asked once for each session, however many requests it makes.
  const brief = (session_id) => {
    if (!briefs.has(session_id)) briefs.set(session_id, hook("session-start", { cwd, session_id, source: "startup" }))
    return briefs.get(session_id)
  }
  // There is no event for the end of a session, but there is one for the end of the process.
  process.on("exit", () => {
    for (const session_id of briefs.keys()) {
      const told = JSON.stringify({ cwd, session_id })
      const words = [...COMMAND.slice(1), "hook", "session-end", "--client", "opencode", "--payload", told]
      spawnSync(COMMAND[0], words, { env: { ...process.env, ...VARIABLES }, stdio: "ignore", timeout: 5_000 })
    }
  })
  return {
    "experimental.chat.system.transform": async (input, output) => {
      const text = await brief(input?.sessionID ?? "")
      if (text && Array.isArray(output?.system)) output.system.push(text)
    },
    "experimental.session.compacting": async (input) => {
      await hook("pre-compact", { cwd, session_id: input?.sessionID ?? "" })
    },
    event: async ({ event }) => {
      if (event?.type === "session.idle") await hook("stop", { cwd, session_id: event.properties?.sessionID ?? "" })
    },
  }
}
