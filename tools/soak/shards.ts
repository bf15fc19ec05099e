/**
 * `npm run soak -- shards`: explores a flow with many seeds in several processes. One of them is killed in the middle. The
 * merge has to miss its seeds, and the same command has to complete them. Then one process runs the same seeds, and both
 * results have to be equal.
 *
 * `--no-whole` leaves that process out, for ranges that one process cannot take. `--program` is the program to run, such as
 * that of an installed package. Default: the source.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = resolve(import.meta.dirname, '../..')
/** Time between two looks at the results of the process that is killed. */
const LOOK_MS = 100
/** Marks the line of a finished seed. */
const RESULT = /"seed":/g

const { values } = parseArgs({
  args: process.argv.slice(3),
  allowNegative: true,
  options: {
    seeds: { type: 'string', default: '10000' },
    processes: { type: 'string', default: '8' },
    flow: { type: 'string', default: join(ROOT, 'test/workbench/explore/flows/leaky.ts') },
    program: { type: 'string', default: join(ROOT, 'bin/modelhost-sim.js') },
    out: { type: 'string' },
    whole: { type: 'boolean', default: true },
  },
})
const [seeds, processes] = [count('seeds', 20), count('processes', 2)]
const range = `1..${seeds}`
const folder = values.out ?? mkdtempSync(join(tmpdir(), 'modelhost-sim-shards-'))

interface Ended {
  readonly code: number | null
  readonly output: string
}

/** What a merge says that does not depend on the division. */
interface Merged {
  readonly code: number | null
  readonly digest: string
  readonly runs: number
  readonly failed: number
  readonly missing: number
  readonly repeated: number
  readonly differing: readonly unknown[]
  readonly incomplete: readonly { readonly shard: string; readonly hasFile: boolean }[]
  readonly findings: readonly { readonly signature: string; readonly count: number; readonly firstSeed: number }[]
}

try {
  const problems = await soak()
  for (const problem of problems) say(`FAILED: ${problem}`)
  if (problems.length === 0) say('passed')
  process.exitCode = problems.length === 0 ? 0 : 1
} finally {
  if (values.out === undefined) rmSync(folder, { recursive: true })
}

async function soak(): Promise<string[]> {
  const problems: string[] = []
  const expect = (isTrue: boolean, problem: string) => void (isTrue || problems.push(problem))

  const killed = start(2)
  const others = Array.from({ length: processes }, (_, i) => i + 1).filter(index => index !== 2)
  const ended = Promise.all(others.map(index => start(index).end))
  const goal = Math.floor(seeds / processes / 2)
  while (finished(2) < goal) await new Promise(wake => setTimeout(wake, LOOK_MS))
  killed.process.kill('SIGKILL')
  const { code } = await killed.end
  expect(code === null, `the process of shard 2 ended with ${code} before it was killed`)
  say(`shard 2 was killed after ${finished(2)} of its ${Math.ceil((seeds - 1) / processes)} seeds`)
  const codes = new Set((await ended).map(({ code }) => code))
  expect(
    [...codes].every(code => code === 0 || code === 1),
    `processes ended with ${[...codes].join(', ')}`,
  )

  const early = await merge(['parts'])
  const lost = Math.ceil((seeds - 1) / processes) - finished(2)
  expect(early.code === 3, `the merge of an incomplete shard ended with ${early.code}`)
  expect(early.missing === lost, `the merge missed ${early.missing} seeds in place of ${lost}`)
  say(`the merge ended with ${early.code}, and missed ${early.missing} seeds`)

  const again = await start(2).end
  expect(again.output.includes('Continues after '), 'the second process of shard 2 did not continue')
  const parts = await merge(['parts'])
  expect(parts.missing === 0 && parts.runs === seeds, `${parts.missing} seeds are missing after the second process`)
  say(`${processes} processes: ${summary(parts)}`)

  const file = resultsFile(processes)
  renameSync(file, `${file}.away`)
  const without = await merge(['parts'])
  renameSync(`${file}.away`, file)
  expect(
    without.code === 3 &&
      without.incomplete[0]?.shard === `${processes}/${processes}` &&
      !without.incomplete[0].hasFile,
    `the merge without a file ended with ${without.code}, and named ${JSON.stringify(without.incomplete)}`,
  )

  if (!values.whole) return problems
  await run(['explore', values.flow, '--seeds', range, '--out', join(folder, 'whole')]).end
  const whole = await merge(['whole'])
  say(`1 process: ${summary(whole)}`)
  expect(comparable(whole) === comparable(parts), `they differ:\n${comparable(whole)}\n${comparable(parts)}`)
  const both = await merge(['parts', 'whole'])
  expect(both.repeated === seeds, `${both.repeated} seeds were run more than once`)
  expect(both.differing.length === 0, `${both.differing.length} seeds came out differently`)
  return problems
}

/** Starts the process of a shard. */
function start(index: number): ReturnType<typeof run> {
  const shard = ['--shard', `${index}/${processes}`, '--out', join(folder, 'parts')]
  return run(['explore', values.flow, '--seeds', range, ...shard])
}

async function merge(folders: readonly string[]): Promise<Merged> {
  const paths = folders.map(name => join(folder, name))
  const { code, output } = await run(['merge', ...paths, '--json']).end
  return { ...JSON.parse(output), code }
}

function run(args: readonly string[]) {
  const child = spawn(process.execPath, [values.program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
    })
  }
  const end = new Promise<Ended>((found, failed) => {
    child.on('error', failed)
    child.on('close', code => (code === 2 ? failed(new Error(output)) : found({ code, output })))
  })
  // A process that fails at once is reported when its turn comes.
  end.catch(() => {})
  return { process: child, end }
}

function resultsFile(index: number): string {
  return join(folder, 'parts', `results-${index}.ndjson`)
}

/** Returns the number of seeds of a shard that have a result. */
function finished(index: number): number {
  const file = resultsFile(index)
  return existsSync(file) ? (readFileSync(file, 'utf8').match(RESULT)?.length ?? 0) : 0
}

function comparable({ digest, runs, failed, missing, findings }: Merged): string {
  const found = findings.map(({ signature, count, firstSeed }) => [signature, count, firstSeed]).sort()
  return JSON.stringify({ digest, runs, failed, missing, found })
}

function summary({ digest, runs, failed, findings }: Merged): string {
  return `${runs} seeds, ${failed} of them with one of ${findings.length} findings, digest ${digest}`
}

function count(name: 'seeds' | 'processes', least: number): number {
  const value = Number(values[name])
  if (Number.isInteger(value) && value >= least) return value
  throw new RangeError(`Failed to soak: --${name} is '${values[name]}'. Give a whole number of at least ${least}.`)
}

function say(text: string): void {
  process.stdout.write(`soak: ${text}\n`)
}
