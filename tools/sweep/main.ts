/**
 * `npm run sweep`: plays random worlds, holds every law after every event, and plays each a second time; then a crowd of
 * worlds at once, and one world in many orders.
 *
 * The second time runs without checks, so equal digests say that equal seeds give equal worlds (I19), and that the check itself
 * changes nothing.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { crowd } from './crowd.ts'
import { runFuzz } from './fuzz/command.ts'
import { orders } from './orders.ts'
import { SOMETIMES, type SometimesName } from './sometimes.ts'
import type { Verdict } from './verdict.ts'

const WORLDS = 500
const CROWD = 1000
const ORDERS = 200
const USAGE = `Usage: npm run sweep -- [--worlds ${WORLDS}] [--from 0] [--seed N] [--crowd ${CROWD}] [--orders ${ORDERS}] [--json]
       npm run sweep -- fuzz [--requests N] [--seed N] [--over process|http] [--help]
  --worlds N  how many random worlds; 0 for none
  --from N    the first of them
  --seed N    that world alone, and whatever is wrong with it in full
  --crowd N   how many worlds at once, each asked the same in an order of its own, against each alone; 0 for none
  --orders N  in how many orders one world is given the same commands; 0 for none
  --json      one JSON document on stdout
Exit codes: 0 every law held, 1 one did not, a world was another in a crowd or in another order, or a sweep of ${WORLDS} did not meet what it must, 2 could not run.
`

const { values, positionals } = parseArgs({
  // `fuzz` has options of its own.
  args: process.argv[2] === 'fuzz' ? ['fuzz'] : process.argv.slice(2),
  allowPositionals: process.argv[2] === 'fuzz',
  options: {
    worlds: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string' },
    crowd: { type: 'string' },
    orders: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (positionals[0] === 'fuzz') process.exitCode = await runFuzz(process.argv.slice(3))
else if (values.help) process.stdout.write(USAGE)
else process.exitCode = await sweep()

async function sweep(): Promise<0 | 1 | 2> {
  const [worlds, from, seed] = [number('worlds'), number('from'), number('seed')]
  const [crowded, ordered] = [number('crowd'), number('orders')]
  if ([worlds, from, seed, crowded, ordered].some(Number.isNaN)) return 2
  const first = seed ?? from ?? 0
  const count = seed === undefined ? (worlds ?? WORLDS) : 1
  const verdicts = count === 0 ? [] : await judge(first, count)
  const failed = verdicts.filter(({ problem }) => problem !== undefined)
  const met = Object.fromEntries(
    SOMETIMES.map(name => [name, verdicts.reduce((sum, one) => sum + (one.met?.[name] ?? 0), 0)]),
  ) as Record<SometimesName, number>
  const missed = SOMETIMES.filter(name => met[name] === 0)
  const entries = verdicts.reduce((sum, one) => sum + one.entries, 0)
  const together = await beside({
    crowd: crowded ?? (seed === undefined ? CROWD : 0),
    orders: ordered ?? (seed === undefined ? ORDERS : 0),
  })
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ first, worlds: count, entries, failed, met, ...together }, null, 2)}\n`)
  } else {
    if (count > 0) tellWorlds(count, entries, failed, met)
    tell(together)
  }
  if (count >= WORLDS && missed.length > 0) {
    process.stderr.write(`Failed to meet: ${missed.join('; ')}. Make worlds that lean to it (tools/sweep/world.ts).\n`)
    return 1
  }
  return failed.length > 0 || together.differing.length > 0 || together.outcomes.length > 1 ? 1 : 0
}

/** What came of worlds beside each other, and of commands in many orders. */
interface Together {
  readonly crowd: number
  /** Worlds that are others among many than alone. */
  readonly differing: readonly string[]
  readonly orders: number
  /** What became of one world, each outcome once. */
  readonly outcomes: readonly string[]
}

async function beside(counts: { readonly crowd: number; readonly orders: number }): Promise<Together> {
  if (counts.crowd > 0) process.stderr.write(`${counts.crowd} worlds at once\n`)
  const differing = counts.crowd === 0 ? [] : await crowd(counts.crowd)
  if (counts.orders > 0) process.stderr.write(`one world in ${counts.orders} orders\n`)
  const outcomes = counts.orders === 0 ? [] : await orders(counts.orders)
  return { ...counts, differing, outcomes }
}

function tellWorlds(
  count: number,
  entries: number,
  failed: readonly Verdict[],
  met: Readonly<Record<SometimesName, number>>,
): void {
  for (const { seed, problem } of failed) {
    process.stdout.write(`\nWorld ${seed}: ${problem}\n  Play it again: npm run sweep -- --seed ${seed}\n`)
  }
  const held = failed.length === 0 ? 'every law held, each world twice the same' : `${failed.length} failed`
  process.stdout.write(`${count} worlds, ${entries.toLocaleString('en')} entries: ${held}.\n`)
  for (const name of SOMETIMES) process.stdout.write(`  ${String(met[name]).padStart(7)}  ${name}\n`)
}

function tell({ crowd, differing, orders, outcomes }: Together): void {
  const lines = [
    ...differing,
    ...(crowd === 0 ? [] : [`${crowd} worlds at once: ${differing.length} of them are others when they are alone.`]),
    ...(orders === 0
      ? []
      : [`50 commands in ${orders} orders: ${outcomes.length} outcome${outcomes.length === 1 ? '' : 's'}.`]),
    ...(outcomes.length > 1 ? outcomes.map(one => `  ${one}`) : []),
  ]
  for (const line of lines) process.stdout.write(`${line}\n`)
}

function number(name: 'worlds' | 'from' | 'seed' | 'crowd' | 'orders'): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  process.stderr.write(`Failed to sweep: --${name} is '${text}'. Give an integer of at least 0.\n`)
  return Number.NaN
}

/** Hands the worlds out to a process for each core, one after the other. */
function judge(first: number, count: number): Promise<Verdict[]> {
  const verdicts: Verdict[] = []
  const processes = Math.min(count, availableParallelism())
  let next = first
  let living = processes
  return new Promise((resolve, reject) => {
    for (let i = 0; i < processes; i++) {
      const child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)))
      let inWork: number | undefined
      const hand = () => {
        inWork = next < first + count ? next++ : undefined
        if (inWork === undefined) child.disconnect()
        else child.send(inWork)
      }
      child.on('message', message => {
        verdicts.push(message as Verdict)
        progress(verdicts, count)
        hand()
      })
      child.on('exit', code => {
        if (inWork !== undefined) reject(new Error(`the process that played world ${inWork} ended with ${code}`))
        else if (--living === 0) resolve(verdicts.sort((a, b) => a.seed - b.seed))
      })
      hand()
    }
  })
}

function progress(verdicts: readonly Verdict[], count: number): void {
  const { length } = verdicts
  const { seed, problem } = verdicts[length - 1]!
  if (problem !== undefined) process.stderr.write(`world ${seed}: ${problem.split('\n', 1)[0]}\n`)
  if (length % 25 === 0 || length === count) process.stderr.write(`${length} of ${count} worlds\n`)
}
