import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { flags } from '../../src/cli/commands/serve.ts'
import { type Config, configSchema, defineConfig } from '../../src/cli/config.ts'
import { exploreFlows } from '../../src/cli/explore/explore-flows.ts'
import { createSimulator } from '../../src/index.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { commandOutput } from './command-output.ts'
import { commanded } from './commanded.ts'

function fileOf(name: string, text: string): string {
  const folder = temporaryFolder()
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** Makes a folder the current one until the end of the test. */
function enter(folder: string): void {
  const before = process.cwd()
  process.chdir(folder)
  onTestFinished(() => process.chdir(before))
}

/** Returns the lines of `--print-config`, each as flag, value and source. */
async function printed(args: readonly string[], env: Record<string, string> = {}): Promise<string[][]> {
  const { code, stdout, stderr } = await commanded([...args, '--print-config'], env)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split(/ {2,}/))
}

test.each([
  ['config.yaml', 'seed: 7\nfixtures: empty\nallowHost: [a.example, b.example]\ncheck: true\n'],
  ['config.json', '{"$schema":"x","seed":7,"fixtures":"empty","allowHost":["a.example","b.example"],"check":true}'],
  [
    'config.ts',
    'export default { seed: 7, fixtures: "empty", allowHost: ["a.example", "b.example"], check: true as const }',
  ],
  ['config.mjs', 'export default { seed: 7, fixtures: "empty", allowHost: ["a.example", "b.example"], check: true }'],
  [
    'config.js',
    'export default Promise.resolve({ seed: 7, fixtures: "empty", allowHost: ["a.example", "b.example"], check: true })',
  ],
])('a flag takes precedence over a variable, and a variable over %s', async (name, text) => {
  const file = fileOf(name, text)
  const lines = await printed(['serve', '--config', file, '--port', '5000', '--allow-webhook=c'], {
    MODELHOST_SIM_SEED: '9',
    PORT: '4444',
  })
  for (const line of [
    ['port', '5000', 'command line'],
    ['allow-webhook', 'c', 'command line'],
    ['seed', '9', 'MODELHOST_SIM_SEED'],
    ['fixtures', 'empty', `fixtures in ${file}`],
    ['allow-host', 'a.example,b.example', `allowHost in ${file}`],
    ['check', 'true', `check in ${file}`],
    ['open', 'false', 'default'],
    ['speed', '(not set)', 'default'],
  ]) {
    expect(lines).toContainEqual(line)
  }
})

test.each([
  ...['ts', 'mts', 'js', 'mjs', 'cjs'].map(ending => [
    ending,
    ending === 'cjs' ? 'module.exports = { seed: 7 }' : 'export default { seed: 7 }',
  ]),
  ...['json', 'yaml', 'yml'].map(ending => [ending, '{ "seed": 7 }']),
])('modelhost-sim.config.%s of the current folder is read', async (ending, text) => {
  const file = fileOf(`modelhost-sim.config.${ending}`, text)
  writeFileSync(join(file, '../package.json'), '{ "type": "module" }')
  enter(dirname(file))
  expect(await printed(['exec'])).toContainEqual(['seed', '7', `seed in modelhost-sim.config.${ending}`])
})

test('a folder that has the name of a configuration is refused', async () => {
  enter(dirname(fileOf('package.json', '{}')))
  mkdirSync('modelhost-sim.config.ts')
  expect((await commanded(['serve', '--print-config'])).stderr).toContain(
    'Failed to read modelhost-sim.config.ts: it is not a file. Give one in TypeScript, ',
  )
  expect((await commanded(['init'])).stderr).toBe(
    'Failed to write modelhost-sim.config.ts: it is a folder. Rename it, then run init again.\n',
  )
  expect(readdirSync('.')).toEqual(['modelhost-sim.config.ts', 'package.json'])
})

test('PORT takes precedence over the file, and a token is not printed', async () => {
  const file = fileOf('config.yaml', 'port: 5000\ncontrolToken: secret\n')
  const lines = await printed(['--config', file], { PORT: '4444' })
  expect(lines).toContainEqual(['port', '4444', 'PORT'])
  expect(lines).toContainEqual(['control-token', '(hidden)', `controlToken in ${file}`])
})

test('a file gives values to each command that can use them', async () => {
  const file = fileOf('config.yaml', 'port: 5000\nfixtures: two-nodes\nseed: 3\n')
  expect((await commanded(['env', '--config', file])).stdout).toContain('MODELHOST_SIM_URL=http://127.0.0.1:5000')
  const ofPort = await commanded(['env', '--config', file], { PORT: '4444' })
  expect(ofPort.stdout).toContain('MODELHOST_SIM_URL=http://127.0.0.1:4444')
  // The free port that serve takes is not known.
  expect((await commanded(['env'], { PORT: '0' })).stdout).toContain('MODELHOST_SIM_URL=http://127.0.0.1:4010')
  expect(await printed(['simulate', '--config', file])).toContainEqual(['seed', '3', `seed in ${file}`])
  expect(await printed(['exec', '--config', file])).toContainEqual(['port', '(not set)', 'default'])
  const { stdout } = await commanded(['simulate', '--config', file, '--for', '1h', '--json'])
  expect(stdout).toContain('"capacity_gpu_hours": 16,')
})

test.each([
  ['a.yaml', 'prot: 1', "$.prot: unknown field. Did you mean 'port'? Rename or remove it."],
  ['a.yaml', 'port: lots', "$.port: expected a number, got 'lots'. Fix that value."],
  ['a.yaml', 'seed: true', '$.seed: expected a string or a number, got true. Fix that value.'],
  ['a.yaml', 'seed: 9007199254740992', '$.seed: expected a text in quotes, or a safe integer, got 9007199254740992.'],
  ['a.yaml', 'seed: -9007199254740993', '$.seed: expected a text in quotes, or a safe integer, got -9007199254740992.'],
  ['a.yaml', 'seed: 0.5', '$.seed: expected a text in quotes, or a safe integer, got 0.5. Fix that value.'],
  ['a.json', '{"seed":12345678901234567890}', '$.seed: expected a text in quotes, or a safe integer, got '],
  ['a.json', '{"seed":""}', "$.seed: expected a text in quotes, or a safe integer, got ''. Fix that value."],
  ['a.yaml', 'port: [', 'Fix the YAML there.'],
  ['a.json', '{"port": 1,', 'Fix the JSON there.'],
  ['a.json', '{"port": 1, "port": 2}', 'the key "port" is there twice. Fix the JSON there.'],
  ['a.yaml', 'cors: true', "$.cors: expected an origin, as in http://localhost:5173, or '*'. Fix that value."],
  ['a.json', '// a comment\n{ "seed": 7 }', 'line 1, column 1: JSON has no comments. Remove it.'],
  ['a.json', '[]', 'it holds no object. Give flags, as in { "fixtures": "empty" }.'],
  ['a.json', '{"endpoints":5}', '$.endpoints: expected an object, got 5. Fix that value.'],
  ['a.json', '{"endpoints":{"getPod":5}}', '$.endpoints.getPod: 5 is not an endpoint. Give the result of endpoint('],
  ['a.ts', 'export const port = 1', 'its default export is missing. Write export default { … } there.'],
])('refuses %s with %s', async (name, text, message) => {
  const file = fileOf(name, text)
  const { code, stderr } = await commanded(['serve', '--config', file])
  expect(code).toBe(2)
  expect(stderr).toContain(`Failed to read ${file}: `)
  expect(stderr).toContain(message)
})

test('explore -- COMMAND names the world that it explored when the configuration has another one', async () => {
  enter(dirname(fileOf('modelhost-sim.config.yaml', 'fixtures: two-nodes\nseed: 7\n')))
  const explored = async (world: object) => {
    const { written, output } = commandOutput()
    // Stopped before its first run.
    const stop = new AbortController()
    const io = { ...output, folder: process.cwd(), signal: stop.signal, playing: () => stop.abort() }
    await exploreFlows({ flows: [], otherCommand: [process.execPath, '-e', ''], ...world }, io)
    return written.out.replaceAll(/\s+/g, ' ')
  }
  expect(await explored({})).toContain(
    "The world was 'default'. For a world, explore reads neither variables nor the configuration. " +
      'To explore the configured world, give --fixtures two-nodes --seed 7.',
  )
  expect(await explored({ fixtures: 'empty', seed: '7' })).not.toContain('The world was')
})

test.each([['replay'], ['judge']])('%s blames the configuration for invalid endpoints', async command => {
  const sim = createSimulator({ fixtures: 'empty' })
  const recorded = sim.record()
  await sim.fetch('http://sim/models')
  recorded.stop()
  const recording = fileOf('a.ndjson', recorded.text)
  const file = fileOf('a.json', '{"endpoints":5}')
  const { code, stderr } = await commanded([command, recording, '--config', file])
  expect([code, stderr]).toEqual([
    2,
    `Failed to read ${file}: $.endpoints: expected an object, got 5. Fix that value.\n`,
  ])
})

test('a flag checks the value of a file further, and the error names the field', async () => {
  const file = fileOf('config.yaml', 'port: 65536')
  const { code, stderr } = await commanded(['serve', '--config', file])
  expect([code, stderr]).toEqual([
    2,
    `Failed to read port in ${file} '65536': too large. Give an integer from 0 to 65535, as in port: 4010.\n`,
  ])
})

test.each([
  ['clock: manual\nspeed: 5\n', 'set the clock: speed in FILE is for the clock scaled.'],
  ['clock: manual\npollStep: 5m\n', 'set the clock: pollStep in FILE is for the clock on-poll.'],
  ['clock: manual\nlatency: scaled\n', 'set the latency: latency in FILE scaled is for a scaled clock.'],
  ['faults: none.json\n', "read faults in FILE 'none.json': the file or folder is missing."],
  ['faults: TWICE\n', `line 1, column 12: the key "on" is there twice. Fix the JSON there.`],
  ['scenarios: none\n', "read scenarios in FILE 'none': the folder is missing."],
])('%j is blamed on the file', async (text, message) => {
  const twice = fileOf('rules.json', '[{"on":"*","on":"*","fault":{"kind":"empty"}}]')
  const file = fileOf('config.yaml', text.replace('TWICE', twice))
  const { code, stderr } = await commanded(['serve', '--port', '0', '--config', file])
  expect([code, stderr]).toEqual([2, expect.stringContaining(message.replace('FILE', file))])
})

test('a flag whose value differs from that of the file is blamed itself', async () => {
  const file = fileOf('config.yaml', 'clock: manual\nspeed: 5\n')
  const { stderr } = await commanded(['serve', '--config', file, '--speed', '6'])
  expect(stderr).toContain('Failed to set the clock: --speed is for the clock scaled.')
})

test('a switch that a variable turns off has the variable as its source', async () => {
  const file = fileOf('config.yaml', 'check: true\n')
  const lines = await printed(['--config', file, '--maxStorage', '2g'], { MODELHOST_SIM_CHECK: '0' })
  expect(lines).toContainEqual(['check', '0', 'MODELHOST_SIM_CHECK'])
  expect(lines).toContainEqual(['max-storage', '2g', 'command line'])
  expect(lines[0]).toEqual(['config', file, 'the configuration file'])
})

test('an error prints no credential', async () => {
  const { code, stderr } = await commanded(['env', '--config', fileOf('config.yaml', 'controlToken: 987654\n')])
  expect([code, stderr]).toEqual([2, expect.not.stringContaining('987654')])
})

test.each([
  [['--clock', 'manual'], 'clock: scaled\nspeed: 60\n', 'speed'],
  [['--fixtures', 'mine.snapshot'], 'seed: 1\n', 'seed'],
])('%j leaves out what the file says for another value', async (args, text, field) => {
  const lines = await printed([...args, '--config', fileOf('config.yaml', text)])
  expect(lines).toContainEqual([field, '(not set)', 'default'])
  const kept = await printed(['--config', fileOf('config.yaml', text)])
  expect(kept.find(([name]) => name === field)![2]).toContain('in ')
})

test('a missing file is refused, and commands without a world have no such flag', async () => {
  expect((await commanded(['serve', '--config', '/nowhere.yaml'])).stderr).toContain(
    "Failed to read --config '/nowhere.yaml': the file is missing. Give one in TypeScript, JavaScript, JSON or YAML.",
  )
  expect((await commanded(['merge', 'x', '--config', 'a.yaml'])).stderr).toContain(
    'Failed to read --config: unknown flag.',
  )
})

test('a configuration has a field for each flag of serve', () => {
  const fields = Object.keys(flags).map(flag => flag.replaceAll(/-(.)/g, (_, letter) => letter.toUpperCase()))
  expect(Object.keys(configSchema().shape).sort()).toEqual(fields.sort())
  const config: Config = defineConfig({ clock: 'manual', seed: 7, open: true })
  expect(configSchema().parse(config)).toEqual(config)
})
