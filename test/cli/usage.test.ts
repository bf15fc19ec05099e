import { readdirSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { type Command, defaultsOf, epilogueOf } from '../../src/cli/flags.ts'
import { OuterValue } from '../../src/cli/values.ts'
import { commanded } from './commanded.ts'

const MISTAKES: [args: string[], message: string, env?: Record<string, string>][] = [
  [['--prot', '4011'], 'Failed to read --prot: unknown flag. Did you mean --port?'],
  [['serve', '--fixture', 'empty'], 'Failed to read --fixture: unknown flag. Did you mean --fixtures?'],
  [['srve'], "Failed to run 'srve': unknown command. Did you mean 'serve'?"],
  [['serve', 'now'], "Failed to read 'now': unknown argument. See --help for the arguments."],
  [
    ['--port', 'abc'],
    "Failed to read --port 'abc': not an integer. Give an integer from 0 to 65535, as in --port 4010.",
  ],
  [['--port', '-1'], "Failed to read --port '-1': too small. Give an integer from 0 to 65535, as in --port 4010."],
  [
    ['--port', '65536'],
    "Failed to read --port '65536': too large. Give an integer from 0 to 65535, as in --port 4010.",
  ],
  [['--port'], 'Failed to read --port: its value is missing. Give one after it.'],
  [['--clock'], 'Failed to read --clock: its value is missing. Words are manual, scaled, on-poll, idle.'],
  [['--port', '1', '--port', '2'], 'Failed to read --port: it is given 2 times. Give it once.'],
  [
    ['--clock', 'manul'],
    "Failed to read --clock 'manul': did you mean 'manual'? Words are manual, scaled, on-poll, idle.",
  ],
  [['--clock', 'manual', '--speed', '5'], 'Failed to set the clock: --speed is for the clock scaled.'],
  [['--clock', 'turbo'], "Failed to read --clock 'turbo': no such word. Words are manual, scaled, on-poll, idle."],
  [['--clock', 'on-poll', '--poll-step', '-5m'], "Failed to read --poll-step '-5m': time does not run backwards."],
  [['--speed', '0'], "Failed to read --speed '0': give a number above 0"],
  ...['0x10', '1e1', ' 2', '', 'Infinity', '2 000'].map((text): [string[], string] => [
    ['--speed', text],
    `Failed to read --speed '${text}': give a number above 0 and up to 1000000, as in --speed 60.`,
  ]),
  ...[
    ['simulate', '--trace', 'tsconfig.json', '--series', './tsconfig.json'],
    ['simulate', '--trace', 'acme/chat=tsconfig.json', '--plot', 'tsconfig.json'],
    ['simulate', '--commands', 'tsconfig.json', '--html', 'tsconfig.json'],
    ['explore', 'tsconfig.json', '--junit', 'tsconfig.json'],
    ['explore', '--junit', 'tsconfig.json', '--html', 'tsconfig.json'],
    ['explore', '--junit', 'tsconfig.json', '--', 'python3', 'tsconfig.json'],
    ['judge', 'tsconfig.json', '--junit', 'tsconfig.json'],
    ['run', 'tsconfig.json', '--html', 'tsconfig.json'],
    ['replay', 'tsconfig.json', '--export', 'tsconfig.json'],
  ].map((args): [string[], string] => [args, "tsconfig.json'. Give each its own."]),
  [
    ['simulate', '--series', './modelhost-sim.config.yaml'],
    "a file of the project and --series name the same file 'modelhost-sim.config.yaml'. Give each its own.",
  ],
  ...['explore.known.yaml', 'modelhost-sim.config.ts'].map((file): [string[], string] => [
    ['explore', 'client.ts', '--junit', file],
    `a file of the project and --junit name the same file '${file}'. Give each its own.`,
  ]),
  ...['simulate', 'explore'].map((command): [string[], string] => {
    const [folder, output] = ['fixtures/worlds/two-nodes', command === 'simulate' ? '--series' : '--junit']
    return [
      [command, '--fixtures', `./${folder}`, output, `${folder}/new.csv`],
      `name the same file '${folder}/new.csv'. Give each its own.`,
    ]
  }),
  [['--allow-host='], "Failed to read --allow-host '': it is empty. Give a value, or leave it out."],
  ...[['--cors='], ['--cors', '']].map((args): [string[], string] => [
    args,
    "Failed to read --cors '': it is empty. Give a value, or leave it out.",
  ]),
  [['--cors', '--cors=http://a.example'], 'Failed to read --cors: it is given 2 times. Give it once.'],
  [['--allow-host', 'a.example', '--allow-host', ' , '], "Failed to read --allow-host ' , ': it is empty."],
  [[], "Failed to read MODELHOST_SIM_ALLOW_HOST ',': it is empty.", { MODELHOST_SIM_ALLOW_HOST: ',' }],
  [['mcp', '--', ' '], 'Failed to start the tools: the client after -- is missing.'],
  [['mcp', '--', 'no-such-command'], "Failed to explore: unknown command 'no-such-command'. Give a program of PATH."],
  [['mcp', '--', 'pythn3'], "unknown command 'pythn3'. Did you mean 'python3'?"],
  [['mcp', '--', './docs/none.sh'], "Failed to explore: unknown file './docs/none.sh'. Give the path of a program."],
  [['mcp', '--', './package.json'], "Failed to explore: './package.json' is not executable."],
  [
    ['--clock', 'manual', '--speed', '5', '--print-config'],
    'Failed to set the clock: --speed is for the clock scaled.',
  ],
  [
    ['exec', '--clock', 'idle', '--poll-step', '5m', '--print-config', '--', 'true'],
    '--poll-step is for the clock on-poll.',
  ],
  [
    ['--max-storage', 'lots'],
    "Failed to read --max-storage 'lots': invalid size. Give bytes, as in --max-storage 512MiB.",
  ],
  [['mcp', '--url', 'foo'], 'Failed to read --url: "foo" is not an address. Give one as in http://127.0.0.1:4010.'],
  [['mcp', '--url', 'http://127.0.0.1:4010', '--seed', '3'], '--seed is for a world of their own, and --url names'],
  [['mcp', '--url', 'http://127.0.0.1:4010', '--port', '4020'], '--port is for a world of their own'],
  // A file or a flag takes precedence over the variable that env prints and exec sets.
  ...[
    ['mcp', '--explore', 'none.ts', '--seed', '3'],
    ['mcp', '--explore', 'none.ts', '--port=4020'],
    ['judge', 'none.ts'],
  ].map((args): (typeof MISTAKES)[number] => [args, ' is missing. Give ', { MODELHOST_SIM_URL: 'http://127.0.0.1:9' }]),
  [['--epoch', '2026-01-01'], "Failed to read the epoch '2026-01-01': no time with an offset."],
  [['--epoch', '2026-01-01T00:00:00.1234567Z'], 'no time with an offset. Give ISO 8601, to the millisecond at most'],
  [['--fixtures', 'defualt'], "Did you mean 'default'?"],
  [['--models', '1'], 'Failed to fill models: the fixture has'],
  [['endpoints'], "Failed to run 'endpoints': unknown command. Commands are serve, "],
  [
    ['env'],
    "Failed to read MODELHOST_SIM_PORT 'x': not an integer. Give an integer from 0 to 65535, as in MODELHOST_SIM_PORT=4010.",
    { MODELHOST_SIM_PORT: 'x' },
  ],
  [[], "Failed to read MODELHOST_SIM_CLOCK 'manul': did you mean 'manual'?", { MODELHOST_SIM_CLOCK: 'manul' }],
  [
    [],
    'Failed to read MODELHOST_SIM_PRT: unknown variable. Did you mean MODELHOST_SIM_PORT?',
    { MODELHOST_SIM_PRT: '4011' },
  ],
  [['judge', '--config', 'x.json'], 'Failed to judge a server: --config is for a recording.'],
  [['--clock', 'nope'], "Failed to read --clock 'nope': no such word.", { MODELHOST_SIM_CLOCK: 'manual' }],
  [
    ['--documented-only=maybe'],
    "Failed to read --documented-only 'maybe': it is a switch and has no value. Give --documented-only alone, or leave it out.",
  ],
  [['merge'], "Failed to run 'merge': the files are missing. Give them, as in: modelhost-sim merge results"],
  [
    ['replay', '--set', 'a=b'],
    "Failed to run 'replay': the file is missing. Give it, as in: modelhost-sim replay run.ndjson",
  ],
  [['replay', 'run.ndjson', '--out', 'run.test.ts'], 'Failed to read --out: unknown flag.'],
  [
    ['replay', 'run.ndjson', '--export', 'run.test.ts', '--set', 'a=b'],
    'Failed to read --set: an export changes nothing. Leave it out, or leave out --export.',
  ],
  [
    ['replay', 'run.har', '--record', 'run.ndjson', '--export', 'run.test.ts'],
    'Failed to read --export: it is for a recording. Leave it out, or leave out --record.',
  ],
  [['merge', 'none.ndjson'], 'Failed to read none.ndjson: the file or folder is missing. Give files of --out.'],
  [['merge', 'docs'], 'Failed to merge docs: it contains no results-1.ndjson or the like. Give the folder of --out.'],
  [
    ['merge', 'x', '--finding-code', '3'],
    "Failed to read --finding-code '3': too small. Give an integer from 4 to 125",
  ],
  [['mcp', '--'], 'Failed to start the tools: the client after -- is missing. Give it, as in mcp -- python3 client.py'],
  [['env', '--config', 'docs'], "Failed to read --config 'docs': it is not a file. Give one in TypeScript,"],
  [['run', '--update=1'], "Failed to read --update '1': it is a switch and has no value."],
  [['--profile', 'quik'], "Did you mean 'quick'?"],
  [
    ['--host', '0.0.0.0', '--port', '0', '--control-token', ''],
    "Failed to read --control-token '': it is empty. Give a token, or leave it out to get a random one.",
  ],
  [['--control-token', ' '], "Failed to read --control-token ' ': it is empty."],
  [['env', '--host'], 'Failed to read --host: its value is missing.'],
  [[], "Failed to read MODELHOST_SIM_TRUST_PROXY 'maybe': give 1 or 0.", { MODELHOST_SIM_TRUST_PROXY: 'maybe' }],
]

describe('a mistake on the command line prints one line on stderr and exits with 2', () => {
  test.each(MISTAKES)('%j', { tags: 'slow' }, async (args, message, env) => {
    const { code, stdout, stderr } = await commanded(args, env)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  test('and with --debug the place in the program', async () => {
    const { code, stderr } = await commanded(['--port', 'abc', '--debug'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/\n\s+at /)
  })
})

const modules = await Promise.all(
  readdirSync('src/cli/commands').map(file => import(`../../src/cli/commands/${file}`) as Promise<Command>),
)

const variableOf = (flag: string) => `MODELHOST_SIM_${flag.toUpperCase().replaceAll('-', '_')}`

/** Returns the flags that a command takes from variables. */
function takenBy(module: Command): string[] {
  const names = Object.keys(module.flags ?? {})
  for (const name of names) vi.stubEnv(variableOf(name), '1')
  const defaults = defaultsOf(module)
  vi.unstubAllEnvs()
  return names.filter(name => defaults[name] === true || defaults[name] instanceof OuterValue)
}

test('a command takes the variables that its help names, and no others', () => {
  const variables = Object.fromEntries(
    modules.map(module => {
      const taken = takenBy(module)
      const names = Object.keys(module.flags ?? {})
      const untaken = names.filter(name => !taken.includes(name)).map(name => `--${name}`)
      const name = String(module.command).split(/[ ,]/)[0]!
      const but = untaken.length === 0 ? '' : ` but ${untaken.join(', ')}`
      const help = `Each flag${but} has an environment variable: MODELHOST_SIM_FLAG_NAME for --flag-name.`
      expect(epilogueOf(module).includes(help), name).toBe(taken.length > 0)
      return [name, taken.length === 0 ? 'none' : untaken.join()]
    }),
  )
  const none = ['conform', 'explore', 'init', 'merge', 'replay', 'run', 'validate']
  expect(variables).toEqual({
    ...Object.fromEntries(none.map(name => [name, 'none'])),
    ...{ env: '', explain: '', fixture: '', serve: '', simulate: '' },
    ...{ exec: '--port,--record', judge: '--config' },
    mcp: '--port,--explore,--fixtures,--profile,--weather,--seed',
  })
})

test('a variable of each flag is known to commands that do not have the flag', { tags: 'slow' }, async () => {
  const flags = new Set(modules.flatMap(takenBy))
  expect(flags.size).toBeGreaterThan(50)
  for (const variable of [...flags].map(variableOf)) {
    const { stderr } = await commanded(['explain', 'x', '--url', 'x'], { [variable]: 'x' })
    expect(stderr, variable).not.toContain('unknown variable')
  }
})

test('env prints the environment variables that direct clients to the server', async () => {
  expect(await commanded(['env', '--port', '4444'])).toEqual({
    code: 0,
    stderr: '',
    stdout:
      'MODELHOST_SIM_URL=http://127.0.0.1:4444\nMODELHOST_SIM_TOKEN=sim_default_token\n' +
      'OPENAI_BASE_URL=http://127.0.0.1:4444/v1\nOPENAI_API_KEY=sim_default_token\n',
  })
})

test('exec says that it cannot keep its recording, or that a host cannot be one', async () => {
  expect(await commanded(['exec', '--', 'true'], { TMPDIR: '/nowhere' })).toEqual({
    ...{ code: 2, stdout: '' },
    stderr: "Failed to make a folder in '/nowhere': the file or folder is missing. Set TMPDIR, or give --record.\n",
  })
  const { code, stderr } = await commanded(['exec', '--port', '0', '--allow-host', 'http://x', '--', 'true'])
  expect([code, stderr]).toEqual([
    2,
    "Failed to allow the host 'http://x': it is not a host name. Give it as in 'sim.example.test', without a port.\n",
  ])
})
