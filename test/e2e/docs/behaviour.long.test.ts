/** The blocks of code on the pages about faults, scenarios, models and the simulation run, and their tables are complete. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { INVARIANTS } from '../../../src/simulation/invariants/invariant.ts'
import { COMMANDS } from '../../../src/simulation/operations/commands.ts'
import { STEP_COLUMNS } from '../../../src/simulation/reporting/time-series.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { ITEM_SCHEMAS } from '../../../src/workbench/explore/plan/plan-form.ts'
import { FLOW_KEYS, STEP_SCHEMAS } from '../../../src/workbench/scenario/documents/schema.ts'
import { runTypeScript } from './page-blocks.ts'

const run = promisify(execFile)
const ROOT = resolve('.')
const SCRATCH = join(ROOT, '.tmp/behaviour')
const BIN = join(ROOT, 'bin/modelhost-sim.js')

beforeAll(() => mkdirSync(SCRATCH, { recursive: true }))
afterAll(() => rmSync(SCRATCH, { recursive: true, force: true }))

function pageOf(name: string): string {
  return readFileSync(join(ROOT, 'docs', `${name}.md`), 'utf8')
}

function blocksOf(name: string, language: string): string[] {
  return [...pageOf(name).matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(found => found[1] === language)
    .map(found => found[2]!)
}

/** Names in code in the first `columns` cells of the rows below a heading, up to the next heading. */
function namesBelow(name: string, heading: string, columns = 1): string[] {
  const [, section] = pageOf(name).split(`\n${heading}\n`)
  const rows = section!.split(/\n#+ /)[0]!.matchAll(/^\| (.*) \|$/gm)
  const cells = [...rows].flatMap(row => row[1]!.split(' | ').slice(0, columns))
  return cells.flatMap(cell => [...cell.matchAll(/`([\w.]+)`/g)].map(found => found[1]!))
}

test('the blocks of inference.md answer a chat, make an image, and script an answer', async () => {
  const blocks = blocksOf('inference', 'ts')
  expect(blocks).toHaveLength(8)
  const question = "{ model: 'acme/assistant', messages: [{ role: 'user', content: 'What WEATHER is it?' }] }"
  const stdout = await runTypeScript(
    'inference',
    `${blocks.join('\n')}
    const scripted = await client.chat.completions.create(${question})
    console.log(scripted.choices[0].message.content)
    console.log(sim.inference.list().length, weather.hits)
    weather.remove()
    console.log(sim.inference.list().length)`,
  )
  expect(stdout).toContain('completion_tokens')
  expect(stdout).toContain('PNG\n')
  expect(stdout).toContain('Sunny, 21 degrees.\n5 1\n4\n')
})

test('the blocks of faults.md and model.md run', async () => {
  const [blocks, weather] = [blocksOf('faults', 'ts'), blocksOf('model', 'ts')]
  expect([blocks.length, weather.length]).toEqual([3, 2])
  const lineRule = `${blocks[1]}console.log(sim.faults.list().map(({ rule }) => rule.in))`
  expect(await runTypeScript('line-fault', lineRule)).toBe("[ 'batch' ]\n")
  expect(await runTypeScript('request-fault', blocks[2]!)).toBe('503\n')
  expect(await runTypeScript('faults', `${blocks[0]}\n${weather.join('\n')}`)).toBe('0\n')
})

test('the scenarios of scenarios.md pass', async () => {
  const [scripts, documents] = [blocksOf('scenarios', 'ts'), blocksOf('scenarios', 'yaml')]
  expect([scripts.length, documents.length]).toEqual([3, 2])
  writeFileSync(join(SCRATCH, 'hub-outage.ts'), scripts[0]!)
  writeFileSync(join(SCRATCH, 'lost-answer-node.ts'), scripts[1]!)
  writeFileSync(join(SCRATCH, 'lost-node.yaml'), documents[0]!)
  const { stdout } = await run(
    process.execPath,
    [BIN, 'run', 'hub-outage.ts', 'lost-answer-node.ts', 'lost-node.yaml', '--update'],
    {
      cwd: SCRATCH,
    },
  )
  expect(stdout).toContain('3 scenarios passed')
})

test('the scenarios of scenarios.md that play a client fail until the client is mended', async () => {
  const [flow] = blocksOf('scenarios', 'js') as [string]
  writeFileSync(join(SCRATCH, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(SCRATCH, 'lost-answer.yaml'), blocksOf('scenarios', 'yaml')[1]!)
  writeFileSync(join(SCRATCH, 'lost-answer.ts'), blocksOf('scenarios', 'ts')[2]!)
  const play = async (client: string) => {
    writeFileSync(join(SCRATCH, 'client.mjs'), client)
    const args = [BIN, 'run', 'lost-answer.yaml', 'lost-answer.ts']
    return run(process.execPath, args, { cwd: SCRATCH }).catch((error: { stdout: string; code: number }) => error)
  }
  const broken = await play(flow)
  expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining('noLeak does not hold: The deployment ') })
  expect(broken.stdout).toContain('2 of 2 scenarios failed')
  const lookUp = `.catch(() =>
    fetch(\`\${url}/deploy/list\`, { headers: { authorization: \`Bearer \${token}\` } }))
  const found = await response.json()
  return Array.isArray(found) ? found[0].deploy_id : found.deploy_id
}`
  const mended = await play(flow.replace(/\n {2}return [\s\S]*$/, lookUp))
  expect(mended.stdout).toContain('2 scenarios passed')
})

test('scenarios.md lists every item of a plan and every key of a scenario that plays a flow', () => {
  expect(namesBelow('scenarios', '## Scenarios that play a client')).toEqual([
    ...Object.keys(FLOW_KEYS),
    ...Object.keys(ITEM_SCHEMAS),
  ])
})

test('faults.md lists every weather pack', () => {
  const packs = pageOf('faults').split('\n| Pack |')[1]!.split('\n\n')[0]!
  const listed = [...packs.matchAll(/^\| `([\w-]+)` /gm)].map(found => found[1]!)
  expect(listed.sort()).toEqual(['none', ...Object.keys(createSimulator().world.profile.weather.packs)].sort())
})

test('model-reference.md lists every command and every invariant that is checked', () => {
  const settings = ['funds.set', 'price.set', 'limit.set', 'limit.approve', 'limit.deny', 'token.allowIps']
  settings.push('rateLimit.set', 'rateLimit.setTokens', 'rateLimit.approve', 'rateLimit.deny')
  settings.push('model.deprecate', 'model.restore', 'model.addVersion', 'model.setInputPrice', 'model.setOutputPrice')
  const commands = new Set([...namesBelow('model-reference', '## Commands', 2), ...settings])
  expect([...commands].filter(name => name.includes('.')).sort()).toEqual(Object.keys(COMMANDS).sort())
  for (const name of settings) expect(pageOf('model-reference')).toContain(`\`${name}\``)
  const invariants = [...pageOf('model-reference').matchAll(/^\| (I\d+) \|/gm)].map(found => found[1]!)
  expect(invariants.sort()).toEqual([...Object.keys(INVARIANTS), 'I16', 'I19'].sort())
})

test('scenarios.md lists every step of a document', () => {
  const steps = pageOf('scenarios').split('\n| Step | Keys | Does |')[1]!.split('\n\n')[0]!
  const names = [...steps.matchAll(/^\| (`\w+`(?:, `\w+`)*) \|/gm)].flatMap(found => found[1]!.match(/\w+/g)!)
  expect([...new Set(names)].sort()).toEqual(Object.keys(STEP_SCHEMAS).sort())
})

test('reports.md lists every column of a series', () => {
  const columns = namesBelow('reports', '### `series[]`').filter(name => name !== 'series')
  expect([...columns].sort()).toEqual([...STEP_COLUMNS].sort())
})
