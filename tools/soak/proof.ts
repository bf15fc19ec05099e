/**
 * `npm run proof`: compares what the package does with `tools/soak/proof.tsv`, a line an output. A change that only moves or
 * joins code leaves every line equal. A change that removes a feature removes its lines.
 *
 * Tests whose worlds depend on real time have no line, so 15 lines are added by each comparison.
 *
 * `--update` writes the file. `--skip worlds,findings` leaves out sections. Exit codes: 0 no line changed, 1 a line changed.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createSimulator, replay } from 'modelhost-sim'
import { explore, type FlowContext } from 'modelhost-sim/explore'
import { handlers, listenOptions } from 'modelhost-sim/msw'
import { setupServer } from 'msw/node'
import { DeployClient } from '../../examples/vitest/client.ts'
import { serve } from '../../src/server/http/server.ts'
import { ask, ROWS, WORLDS } from '../../test/server/request-table.ts'
import { runSuite } from './suite-digests.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const FILE = join(ROOT, 'tools/soak/proof.tsv')
const EPOCH = '2026-01-01T00:01:30.500Z'
const BASE = 'https://api.example.test'

type Lines = Map<string, string>

const hash = (value: unknown) =>
  createHash('sha256')
    .update(typeof value === 'string' ? value : JSON.stringify(value))
    .digest('hex')
    .slice(0, 12)

/** The digests of the worlds of each test of `npm test`, by its title: a test can move to another file. */
function addWorlds(lines: Lines): void {
  for (const [name, digests] of runSuite(['in-process']).digests) {
    const title = name.slice(name.indexOf(' > ') + 3).replaceAll(/\s+/g, ' ')
    lines.set(`worlds ${title}`, hash(`${lines.get(`worlds ${title}`) ?? ''}${digests}`))
  }
}

function addTraces(lines: Lines): void {
  const files = readdirSync(join(ROOT, 'scenarios'), { recursive: true, encoding: 'utf8' })
  for (const file of files.filter(name => name.includes('.trace'))) {
    lines.set(`traces ${file}`, hash(readFileSync(join(ROOT, 'scenarios', file), 'utf8')))
  }
}

async function addDocument(lines: Lines): Promise<void> {
  const sim = createSimulator()
  const document = await (await sim.fetch('http://sim/openapi.json')).json()
  for (const [path, methods] of Object.entries<object>(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      lines.set(`openapi ${method} ${path}`, hash(operation))
    }
  }
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    lines.set(`openapi schema ${name}`, hash(schema))
  }
}

/** The names that each public entry exports, types included. */
function addExports(lines: Lines): void {
  let entry = ''
  for (const line of readFileSync(join(ROOT, 'tools/api/modelhost-sim.api.md'), 'utf8').split('\n')) {
    if (line.startsWith('## ')) entry = line.slice(3)
    else if (line.startsWith('- ')) lines.set(`exports ${entry} ${line.slice(2)}`, 'yes')
  }
}

async function addAnswers(lines: Lines): Promise<void> {
  const msw = setupServer()
  const platformFetch = globalThis.fetch
  for (const [world, given] of Object.entries(WORLDS)) {
    const open = () => createSimulator({ seed: 1, epoch: EPOCH, ...given })
    const [direct, intercepted, served] = [open(), open(), open()]
    const server = await serve(served, { port: 0 })
    msw.resetHandlers(...handlers(intercepted, { baseUrl: BASE }))
    msw.listen(listenOptions)
    const transports: Record<string, (path: string, init: RequestInit) => Promise<Response>> = {
      process: (path, init) => direct.fetch(`http://sim${path}`, init),
      msw: (path, init) => fetch(`${BASE}${path}`, init),
      http: (path, init) => platformFetch(`${server.url}${path}`, init),
    }
    for (const { operation, cases } of ROWS) {
      for (const one of cases.filter(each => each.world === world)) {
        for (const sim of [direct, intercepted, served]) sim.reset()
        for (const [name, send] of Object.entries(transports)) {
          lines.set(`answers ${operation} ${one.status} ${one.name} ${name}`, hash(await ask(one, direct.token, send)))
        }
      }
    }
    msw.close()
    await server.close()
  }
}

/** A recorded hour with faults, a stream, an upload and events of the fleet; and its replay. */
async function addRecordings(lines: Lines): Promise<void> {
  const sim = createSimulator({ seed: 5 })
  const recording = sim.record()
  const authorization = `Bearer ${sim.token}`
  const send = async (path: string, body?: object) => {
    const init = body && { method: 'POST', body: JSON.stringify(body) }
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await sim.fetch(`http://sim${path}`, { ...init, headers }).catch(() => undefined)
    return answer?.text().catch(() => undefined)
  }
  sim.faults.add({ on: 'listDeployments', nth: 2, fault: { kind: 'status', status: 503 } })
  sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })
  const messages = [{ role: 'user', content: 'How is tea made?' }]
  for (let round = 0; round < 3; round++) {
    await send('/deploy/llm', { model_name: 'chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
    await sim.clock.advance('5m')
    await send('/deploy/list')
    await send('/v1/chat/completions', { model: 'aurora-labs/aurora-8b-instruct', messages, stream: round === 1 })
    sim.cluster.node('h100-0').crash()
    await sim.clock.advance('15m')
  }
  recording.stop()
  lines.set('recordings hour', hash(recording.text))
  lines.set('recordings world', sim.digest)
  lines.set('recordings replay', hash(await replay({ text: recording.text })))
}

async function addFindings(lines: Lines): Promise<void> {
  const path = new URL('../../test/workbench/explore/naive/', import.meta.url).href
  const { BatchClient } = await import('../../examples/node-test/client.js' as string)
  const { deployClient } = await import('../../examples/jest/client.js' as string)
  const { BatchClient: NaiveBatchClient } = await import(`${path}batch-client.js`)
  const { deployClient: naiveDeployClient } = await import(`${path}polling-client.js`)
  const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const chat = 'aurora-labs/aurora-8b-instruct'
  const questions = ['How is tea made?', 'Why does it rain?', 'Who sings?']
  const clients: Record<string, (context: FlowContext) => Promise<unknown>> = {
    vitest: ({ fetch, url, token, sleep }) => new DeployClient({ baseUrl: url, fetch, token, sleep }).deploy(model),
    jest: context => deployClient(context).deploy(model),
    'node-test': context => new BatchClient(context).ask(chat, questions),
    'naive deploy': context => naiveDeployClient(context).deploy(model),
    'naive batch': context => new NaiveBatchClient(context).ask(chat, questions),
  }
  for (const [name, run] of Object.entries(clients)) {
    const report = await explore(run, { name, fixtures: 'empty', faults: 'singles' })
    for (const { signature, words } of report.findings) lines.set(`findings ${name} ${signature}`, hash(words))
    lines.set(`findings ${name}`, `${report.findings.length}`)
  }
}

const { values } = parseArgs({ options: { update: { type: 'boolean' }, skip: { type: 'string', default: '' } } })
const sections = {
  ...{ traces: addTraces, openapi: addDocument, exports: addExports, answers: addAnswers },
  ...{ recordings: addRecordings, findings: addFindings, worlds: addWorlds },
}
const skipped = values.skip.split(',').filter(name => name !== '')
const unknown = skipped.find(name => !(name in sections))
if (unknown !== undefined) {
  throw new Error(`Failed to compare: --skip ${unknown} is unknown. Give ${Object.keys(sections).join(', ')}.`)
}

const lines: Lines = new Map()
for (const [name, add] of Object.entries(sections)) if (!skipped.includes(name)) await add(lines)
const before: Lines = new Map()
for (const line of existsSync(FILE) ? readFileSync(FILE, 'utf8').trimEnd().split('\n') : []) {
  const [key, value] = line.split('\t') as [string, string]
  if (!skipped.includes(key.split(' ')[0]!)) before.set(key, value)
  else if (values.update) lines.set(key, value)
}
const changes = { changed: 0, removed: 0, added: 0 }
for (const key of new Set([...before.keys(), ...lines.keys()])) {
  const kind = !lines.has(key) ? 'removed' : !before.has(key) ? 'added' : 'changed'
  if (kind === 'changed' && before.get(key) === lines.get(key)) continue
  if (before.size > 0) process.stdout.write(`${kind}: ${key}\n`)
  changes[kind]++
}
process.stdout.write(
  `${lines.size} outputs: ${changes.changed} changed, ${changes.removed} removed, ${changes.added} added.\n`,
)
if (values.update)
  writeFileSync(
    FILE,
    `${[...lines]
      .map(line => line.join('\t'))
      .sort()
      .join('\n')}\n`,
  )
process.exitCode = changes.changed > 0 && !values.update ? 1 : 0
