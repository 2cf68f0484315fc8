// byheart for opencode: hands a session what memory holds, and notes when it pauses. Written by `byheart install`.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = {{command}}
const VARIABLES = {{variables}}
// A script that lets calls pass that nothing is known of; empty where moments are switched off.
const GATE = {{gate}}
const SHELL = ["bash", "shell"]
const FILES = ["edit", "write", "patch", "multiedit"]

// Runs a hook of byheart's and gives what it prints; nothing where anything goes wrong.
function hook(event, told, words = COMMAND) {
  return new Promise((resolve) => {
    const child = spawn(words[0], [...words.slice(1), "hook", event, "--client", "opencode"], {
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
  const remarks = new Map()
  const commands = new Map()
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
    // What is said before a call reaches the model with its result: there is no other way here.
    "tool.execute.before": async (input, output) => {
      if (!GATE.length || ![...SHELL, ...FILES].includes(input?.tool)) return
      commands.set(input.callID, output?.args ?? {})
      const told = { cwd, session_id: input.sessionID ?? "", tool_name: input.tool, tool_input: output?.args ?? {} }
      const text = await hook("pre-tool", told, GATE)
      if (text) remarks.set(input.callID, text)
    },
    "tool.execute.after": async (input, output) => {
      if (!GATE.length || !output) return
      let text = remarks.get(input?.callID) ?? ""
      remarks.delete(input?.callID)
      const args = input?.args ?? commands.get(input?.callID) ?? {}
      commands.delete(input?.callID)
      if (SHELL.includes(input?.tool)) {
        const exit = output.metadata?.exit
        const told = { cwd, session_id: input.sessionID ?? "", tool_name: input.tool, tool_input: args, tool_response: { output: output.output, exitCode: typeof exit === "number" ? exit : undefined } }
        text += await hook("post-tool", told, GATE)
      }
      if (text && typeof output.output === "string") output.output += `\n\n${text}`
    },
    "experimental.session.compacting": async (input) => {
      await hook("pre-compact", { cwd, session_id: input?.sessionID ?? "" })
    },
    event: async ({ event }) => {
      if (event?.type === "session.idle") await hook("stop", { cwd, session_id: event.properties?.sessionID ?? "" })
    },
  }
}
