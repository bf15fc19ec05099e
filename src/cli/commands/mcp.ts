/** `modelhost-sim mcp`: the control plane as tools of an AI assistant, over stdin and stdout. */
import { Readable } from 'node:stream'
import { LIMITS } from '../../lib/limits.ts'
import { quote } from '../../lib/quote.ts'
import { formatCount } from '../../lib/text/numbers.ts'
import { serve } from '../../server/http/server.ts'
import { createSimulator } from '../../simulator/simulator.ts'
import { ScenarioLibrary } from '../../workbench/scenario/runner/library.ts'
import { UsageError } from '../command.ts'
import { type ArgumentsOf, flag } from '../flags.ts'
import type { OwnTool } from '../mcp/explore-tool.ts'
import { createToolServer, missingPackageError } from '../mcp/tool-server.ts'
import { optionFlags, optionsFromFlags } from '../option-flags.ts'
import { exitProcess, onSignals } from '../process-end.ts'
import { integer } from '../values.ts'
import { scenarioFolders } from './serve.ts'

export const command = 'mcp'
export const describe = 'Offer the simulator to an AI assistant, by the Model Context Protocol over stdin and stdout'

/** The options of the own world. The tool create_world has the others. */
const WORLD_FLAGS = ['fixtures', 'seed', 'profile', 'weather'] as const

export const flags = {
  url: flag('URL of a running server. Default: a server of its own, with a manual clock'),
  'control-token': flag('Token of the control plane of the server at --url'),
  port: flag(
    'Port of the own server, for the clients under test; 0 selects a free port',
    integer({ min: 0, max: 65_535 }, 0),
    '0',
  ),
  explore: flag('Flow of the tool explore_client. A client that is a command comes after --'),
  ...optionFlags(WORLD_FLAGS),
}
export const insteadOfServer = ['port', ...WORLD_FLAGS]
export const takesOtherCommand = true
export const examples = [
  ['$0 mcp', 'a world of its own'],
  ['$0 mcp --url http://127.0.0.1:4010', 'the worlds of a running server'],
  ['$0 mcp --explore client.ts', 'with a tool that explores this client'],
]

type Arguments = ArgumentsOf<typeof flags> & {
  /** The words after `--`. */
  readonly otherCommand?: readonly string[]
}

export async function handler(argv: Arguments): Promise<void> {
  if (argv.url !== undefined) assertForeignServer(argv.url, argv)
  if (argv.explore !== undefined && argv.otherCommand !== undefined) {
    throw new UsageError('Failed to start the tools: --explore is a flow, and a command follows --. Leave one out.')
  }
  if (argv.otherCommand?.[0]?.trim() === '' || argv.otherCommand?.length === 0) {
    throw new UsageError(
      'Failed to start the tools: the client after -- is missing. Give it, as in mcp -- python3 client.py, or leave out --.',
    )
  }
  // Before a server is open: an error ends the process.
  if (argv.explore !== undefined) await requireFlow(argv.explore)
  if (argv.otherCommand !== undefined) {
    const { requireStartable } = await import('../../workbench/explore/command/unusable-command.ts')
    requireStartable(argv.otherCommand[0]!, process.env.PATH)
  }
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js').catch(error => {
    throw missingPackageError(error)
  })
  const sim = argv.url === undefined ? createSimulator({ ...optionsFromFlags(argv), clock: 'manual' }) : undefined
  const own =
    sim && (await serve(sim, { port: argv.port, ownProcess: true, scenarios: new ScenarioLibrary(scenarioFolders()) }))
  const url = (argv.url ?? own!.url).replace(/\/+$/, '')
  const ended = new AbortController()
  const server = await createToolServer({ url, controlToken: argv.controlToken }, await ownTool(argv, ended.signal))
  // stdout belongs to the protocol.
  process.stderr.write(`modelhost-sim mcp: the tools control the service at ${url}\n`)
  const end = async () => {
    ended.abort()
    await server.close()
    await own?.close()
    // The module of a flow can keep timers and connections.
    if (argv.explore !== undefined) exitProcess()
  }
  const input = Readable.from(wholeMessages(process.stdin, text => process.stdout.write(text)))
  // The assistant ends the tools by closing stdin.
  input.once('end', end)
  onSignals(() => void end())
  await server.connect(new StdioServerTransport(input))
}

/**
 * Loads a flow, as each exploration will. What its module prints goes to stderr: stdout belongs to the protocol.
 *
 * @throws LoadError if it cannot be used
 */
async function requireFlow(path: string): Promise<void> {
  const { loadFlowFile } = await import('../../workbench/scenario/runner/load-flow.ts')
  const { write } = process.stdout
  process.stdout.write = process.stderr.write.bind(process.stderr)
  try {
    await loadFlowFile(path)
  } finally {
    process.stdout.write = write
  }
}

/** Returns the tool that explores a client, if one is given. */
async function ownTool({ explore, otherCommand }: Arguments, ended: AbortSignal): Promise<OwnTool | undefined> {
  if (explore === undefined && otherCommand === undefined) return undefined
  // Loaded on demand: most assistants explore nothing.
  const { exploreTool } = await import('../mcp/explore-tool.ts')
  return exploreTool(explore === undefined ? ['--', ...otherCommand!] : [explore], ended)
}

const NEWLINE = 10

/** Yields each message as one piece, which takes linear time. Refuses longer messages, and reads on after them. */
export async function* wholeMessages(
  input: AsyncIterable<Buffer>,
  refuse: (text: string) => void,
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let length = 0
  for await (const chunk of input) {
    let start = 0
    while (start < chunk.length) {
      const end = chunk.indexOf(NEWLINE, start) + 1 || chunk.length
      const part = chunk.subarray(start, end)
      start = end
      length += part.length
      if (length <= LIMITS.toolMessageBytes) parts.push(part)
      if (part.at(-1) !== NEWLINE) continue
      if (length <= LIMITS.toolMessageBytes) yield Buffer.concat(parts)
      else refuse(tooLong(length))
      parts = []
      length = 0
    }
  }
}

function tooLong(bytes: number): string {
  const message = `Failed to read a message: it has ${formatCount(bytes)} bytes, and ${formatCount(LIMITS.toolMessageBytes)} is the most. Send less in one call.`
  return `${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_600, message } })}\n`
}

/** Rejects an invalid address, and flags that only the own world has. */
function assertForeignServer(url: string, argv: Arguments): void {
  if (!URL.canParse(url) || !/^https?:[^?#]*$/i.test(url)) {
    throw new UsageError(`Failed to read --url: ${quote(url)} is not an address. Give one as in http://127.0.0.1:4010.`)
  }
  const flags = argv as Arguments & { readonly [name in (typeof WORLD_FLAGS)[number]]?: unknown }
  const isGiven = (name: (typeof WORLD_FLAGS)[number]) => ![undefined, 'default'].includes(flags[name] as string)
  const given = argv.port === 0 ? WORLD_FLAGS.find(isGiven) : 'port'
  if (given === undefined) return
  throw new UsageError(
    `Failed to start the tools: --${given} is for a world of their own, and --url names a server that runs. Leave one out.`,
  )
}
