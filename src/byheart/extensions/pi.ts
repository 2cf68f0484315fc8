// byheart for pi and oh-my-pi: hands a session what memory holds, and learns when it ends. Written by `byheart install`.
import { spawn } from "node:child_process"

const COMMAND: string[] = {{command}}
const VARIABLES: Record<string, string> = {{variables}}
const CLIENT = "{{client}}"
// A script that lets calls pass that nothing is known of; empty where moments are switched off.
const GATE: string[] = {{gate}}
const SHELL = ["bash", "shell"]
const FILES = ["edit", "write"]

// Runs byheart and gives what it prints; nothing where anything goes wrong.
function run(words: string[], given: string, cwd: string, command: string[] = COMMAND): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command[0], [...command.slice(1), ...words], {
      cwd,
      env: { ...process.env, ...VARIABLES },
      stdio: ["pipe", "pipe", "ignore"],
    })
    let text = ""
    const timer = setTimeout(() => child.kill(), 10_000)
    child.stdout.on("data", (part: any) => (text += part))
    child.on("error", () => resolve(""))
    child.on("close", () => (clearTimeout(timer), resolve(text)))
    child.stdin.on("error", () => {})
    child.stdin.end(given)
  })
}

function session(ctx: any): string {
  try {
    return ctx?.sessionManager?.getSessionId?.() ?? ""
  } catch {
    return ""
  }
}

export default function (pi: any) {
  let brief: string | undefined
  const told = (ctx: any) => JSON.stringify({ cwd: ctx?.cwd ?? process.cwd(), session_id: session(ctx), source: "startup" })
  const hook = (event: string, ctx: any) => run(["hook", event, "--client", CLIENT], told(ctx), ctx?.cwd ?? process.cwd())

  pi.on("session_start", () => {
    brief = undefined
  })
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    // Asked once for each session, however many turns it has.
    brief ??= await hook("session-start", ctx)
    if (!brief) return
    const system = event?.systemPrompt
    return { systemPrompt: Array.isArray(system) ? [...system, brief] : `${system ?? ""}\n\n${brief}` }
  })
  const moment = (event: string, what: any, ctx: any, more: object) => {
    const cwd = ctx?.cwd ?? process.cwd()
    const given = JSON.stringify({ cwd, session_id: session(ctx), tool_name: what?.toolName ?? "", tool_input: what?.input ?? {}, ...more })
    return run(["hook", event, "--client", CLIENT], given, cwd, GATE)
  }
  const remarks = new Map<string, string>()
  // What is said before a call reaches the model with its result.
  pi.on("tool_call", async (event: any, ctx: any) => {
    if (!GATE.length || ![...SHELL, ...FILES].includes(event?.toolName)) return
    const text = await moment("pre-tool", event, ctx, {})
    if (text) remarks.set(event.toolCallId, text)
  })
  pi.on("tool_result", async (event: any, ctx: any) => {
    if (!GATE.length) return
    let text = remarks.get(event?.toolCallId) ?? ""
    remarks.delete(event?.toolCallId)
    if (SHELL.includes(event?.toolName)) {
      const output = (event.content ?? []).map((part: any) => part?.text ?? "").join("\n")
      text += await moment("post-tool", event, ctx, { tool_response: { output, is_error: event.isError === true } })
    }
    if (text) return { content: [...(event.content ?? []), { type: "text", text }] }
  })
  pi.on("session_before_compact", async (_event: any, ctx: any) => {
    await hook("pre-compact", ctx)
  })
  pi.on("session_shutdown", async (_event: any, ctx: any) => {
    await hook("session-end", ctx)
  })

  // pi has no MCP of its own, so the tools that matter most come with this.
  if (CLIENT !== "pi" || typeof pi.registerTool !== "function") return
  const tool = (name: string, description: string, argument: string, words: (text: string) => string[]) =>
    pi.registerTool({
      name,
      label: name,
      description,
      parameters: { type: "object", properties: { [argument]: { type: "string" } }, required: [argument] },
      async execute(_id: string, params: any, ...rest: any[]) {
        const ctx = rest.find((each) => each?.cwd)
        const text = await run(words(String(params[argument])), "", ctx?.cwd ?? process.cwd())
        return { content: [{ type: "text", text: text || "Nothing in memory fits that." }], details: {} }
      },
    })
  tool("recall_memory", "Search what is remembered of this user and project.", "query", (text) => ["recall", "--", text])
  tool("remember_this", "Store one lasting fact, preference or rule that the user stated, in one sentence.", "text", (text) => ["remember", "--", text])
  tool("fix", "What helped when an error like this came up in earlier sessions.", "error", (text) => ["fix", "--", text])
}
