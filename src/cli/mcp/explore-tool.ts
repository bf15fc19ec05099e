/** The tool that explores a client. The start of the tools names the client: an assistant cannot choose what runs. */

import { execFile } from 'node:child_process'
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js'
import { assertKnownKeys } from '../../lib/known-keys.ts'
import { EXPLORE_DEPTHS } from '../../workbench/explore/explore.ts'

/** A tool beside the operations of the control plane. */
export interface OwnTool extends Tool {
  call(input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<CallToolResult>
}

const FIELDS = {
  faults: { type: 'string', enum: EXPLORE_DEPTHS, description: 'The last stage. Default: singles' },
  budget: { type: 'string', description: 'Maximum number of runs, or real time as in 60s' },
  fixtures: { type: 'string', description: 'Fixture of the world, as in empty' },
  seed: { type: 'string', description: 'Seed of the world' },
} as const

const FLAG_IN_ERROR = new RegExp(`(^Failed to read |, as in )--(?=${Object.keys(FIELDS).join('|')})`, 'g')
const MAX_BYTES = 16 * 1024 * 1024
const COULD_NOT_RUN = 2

/**
 * Returns the tool for a client. A call starts this program again, because a flow may print, and stdout of the tools
 * belongs to the protocol.
 *
 * @param client a flow as `explore` takes it, or a command after `--`
 * @param ended ends a call too
 */
export function exploreTool(client: readonly string[], ended: AbortSignal): OwnTool {
  return {
    name: 'explore_client',
    description:
      `Runs the client (${client.join(' ')}) in simulated worlds with one fault each. Returns a card of how it ended, ` +
      'what was found, the most harmful first, and what was judged. Its runs do not touch the worlds of list_worlds.',
    inputSchema: { type: 'object', properties: FIELDS, additionalProperties: false },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    call: async (input, signal) => {
      assertKnownKeys(input, Object.keys(FIELDS), "Failed to call 'explore_client'", { noun: 'field' })
      const flags = Object.entries({ faults: 'singles', ...input }).map(([name, value]) => `--${name}=${String(value)}`)
      const { code, stdout, stderr } = await start(['explore', ...flags, ...client], AbortSignal.any([signal, ended]))
      const isError = code === COULD_NOT_RUN || stdout === ''
      // An assistant gives fields, not flags.
      const text = isError ? stderr.replaceAll(FLAG_IN_ERROR, '$1') : stdout
      return { content: [{ type: 'text', text }], isError }
    },
  }
}

/** Starts this program with other words. It ends with the signal. */
function start(words: readonly string[], signal: AbortSignal) {
  const argv = [...process.execArgv, process.argv[1]!, ...words]
  return new Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }>(resolve => {
    execFile(process.execPath, argv, { signal, maxBuffer: MAX_BYTES }, (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr: stderr || String(error?.message) }),
    )
  })
}
