/** Plain flags are read without yargs: both ways give the same values and the same errors. */
import { afterEach, expect, test, vi } from 'vitest'
import type { Command } from '../../src/cli/command.ts'
import * as serve from '../../src/cli/commands/serve.ts'
import { readPlainFlags } from '../../src/cli/plain-flags.ts'
import { runWithYargs } from '../../src/cli/yargs-command-line.ts'

type Values = Readonly<Record<string, unknown>>

const command = serve as unknown as Command
/** The keys that `serve` reads. */
const KEYS = Object.keys(serve.flags()).flatMap(name => [
  name,
  name.replaceAll(/-./g, found => found[1]!.toUpperCase()),
])

afterEach(() => vi.unstubAllEnvs())

async function yargsValues(args: readonly string[]): Promise<Values> {
  let values: Values | undefined
  const handler = (argv: never) => {
    values = argv
  }
  await runWithYargs(args, [{ ...command, handler }])
  return values!
}

function pick(values: Values): Values {
  return Object.fromEntries(KEYS.flatMap(key => (values[key] === undefined ? [] : [[key, values[key]]])))
}

test.each([
  [[]],
  [['--port', '0']],
  [['--port=0', '--clock', 'manual', '--trust-proxy']],
  [['--fixtures', 'empty', '--seed', '007', '--epoch=2026-01-01T00:00:00Z']],
  [['--clock=on-poll', '--poll-step', '5m', '--idle-after', '250', '--latency', 'instant']],
  [['--allow-webhook', 'a.example,b.example:80', '--port', '1']],
  [['--allow-host', 'a.example,b.example', '--control-token', 'x=y', '--max-worlds', '3', '--world-idle', '30m']],
  [['--names', 'names file.json', '--weather', 'launch-day']],
  [['--strict-requests', '--documented-only', '--journal-limit', '10', '--max-storage', '512MiB']],
])('plain flags %j have the values of yargs', async args => {
  const values = readPlainFlags(args, command)
  expect(values).toBeDefined()
  expect(pick(values!)).toEqual(pick(await yargsValues(args)))
})

test('plain flags have the values of yargs when the environment gives defaults', async () => {
  vi.stubEnv('MODELHOST_SIM_PORT', '4711')
  vi.stubEnv('MODELHOST_SIM_TRUST_PROXY', '1')
  vi.stubEnv('MODELHOST_SIM_ALLOW_HOST', 'a.example')
  const values = readPlainFlags(['--seed', '7'], command)!
  expect(values).toMatchObject({ port: 4711, seed: '7', trustProxy: true })
  expect(pick(values)).toEqual(pick(await yargsValues(['--seed', '7'])))
})

test.each([[['--port', 'x']], [['--clock', 'manul']], [['--seed', ' ']], [['--world-idle', '5 parsecs']]])(
  'plain flags %j have the error of yargs',
  async args => {
    const read = () => readPlainFlags(args, command)
    expect(read).toThrow('Failed to read --')
    const message = await yargsValues(args).catch((error: Error) => error.message)
    expect(read).toThrow(message as string)
  },
)

test('a misspelled variable is refused when the flags are plain', () => {
  vi.stubEnv('MODELHOST_SIM_PROT', '1')
  expect(() => readPlainFlags([], command)).toThrow('Did you mean MODELHOST_SIM_PORT?')
})

test.each([
  [['--help']],
  [['--version']],
  [['-h']],
  [['--prot', '1']],
  [['--port']],
  [['--port', '--seed', '1']],
  [['--port', '1', '--port', '2']],
  [['--port', '-1']],
  [['--seed', '"7"']],
  [['--seed=']],
  [['--trust-proxy=true']],
  [['--trust-proxy', 'false']],
  [['--maxWorlds', '3']],
  [['extra']],
  [['--']],
])('arguments %j are left to yargs', args => {
  expect(readPlainFlags(args, command)).toBeUndefined()
})
