/** `npm run sweep -- fuzz`: random requests to every operation of the service and the control plane. */
import { parseArgs } from 'node:util'
import { EPISODE_LENGTH, playEpisode, type Violation } from './episode.ts'
import { type FuzzResult, fuzz } from './fuzz.ts'
import { TRANSPORTS, type Transport } from './ground.ts'
import { shrink } from './shrink.ts'
import { describeRequest, describeViolation } from './violation-text.ts'

const REQUESTS = 1_000_000
const USAGE = `Usage: npm run sweep -- fuzz [--requests ${REQUESTS}] [--seed 1] [--from 0] [--over process|http] [--only 3,17]
  --requests N  how many requests, in episodes of ${EPISODE_LENGTH}; each episode has a world of its own
  --seed N      equal seeds give equal requests
  --from N      the index of the first request; rounded down to the start of an episode
  --over        process: by calls, each request repeatable; http: over sockets, also on clocks that follow real time
  --only A,B    only the requests with these indices, all of one episode, and each with its answer
  --json        one JSON document on stdout
Exit codes: 0 every law held, 1 a law was violated, 2 invalid arguments.
`

/** Runs the command. Resolves to the exit code. */
export async function runFuzz(args: readonly string[]): Promise<0 | 1 | 2> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      requests: { type: 'string', default: String(REQUESTS) },
      seed: { type: 'string', default: '1' },
      from: { type: 'string', default: '0' },
      over: { type: 'string', default: 'process' },
      only: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const transport = TRANSPORTS.find(one => one === values.over)
  const [requests, seed, from] = [values.requests, values.seed, values.from].map(Number) as [number, number, number]
  const only = values.only?.split(',').map(Number)
  const invalid = [requests, seed, from, ...(only ?? [])].some(one => !Number.isSafeInteger(one) || one < 0)
  if (invalid || transport === undefined || !isOneEpisode(only ?? [])) {
    process.stderr.write(`Failed to fuzz: invalid arguments.\n${USAGE}`)
    return 2
  }
  if (only !== undefined) return replay(only, seed, transport)
  const started = process.cpuUsage()
  const { counts, violations } = await fuzz({ requests, seed, transport, from }, async (sent, fresh) => {
    if (sent % (25 * EPISODE_LENGTH) === 0) process.stderr.write(`${sent} of ${requests} requests\n`)
    for (const violation of fresh) await tellViolation(violation, seed, transport)
  })
  if (values.json)
    process.stdout.write(`${JSON.stringify({ requests, seed, transport, counts, violations }, null, 2)}\n`)
  else tellCounts(counts, requests, violations.length, process.cpuUsage(started))
  return violations.length === 0 ? 0 : 1
}

function isOneEpisode(indices: readonly number[]): boolean {
  return new Set(indices.map(index => Math.floor(index / EPISODE_LENGTH))).size <= 1
}

async function replay(indices: readonly number[], seed: number, transport: Transport): Promise<0 | 1> {
  const { violations } = await playEpisode({
    transport,
    seed,
    indices: indices.toSorted((a, b) => a - b),
    onAnswer: (index, request, reply) => {
      const text = Buffer.from(reply.bytes.slice(0, 400)).toString()
      process.stdout.write(`${index} ${describeRequest(request)}\n  ${reply.status} ${text}\n`)
    },
  })
  for (const violation of violations) process.stdout.write(`${describeViolation(violation)}\n`)
  return violations.length === 0 ? 0 : 1
}

async function tellViolation(violation: Violation, seed: number, transport: Transport): Promise<void> {
  const fewest = await shrink(violation, { transport, seed })
  const replayLine =
    fewest === undefined
      ? `  A replay of its episode did not repeat it: --from ${violation.index} --requests ${EPISODE_LENGTH} --seed ${seed} --over ${transport}`
      : `  Replay: npm run sweep -- fuzz --over ${transport} --seed ${seed} --only ${fewest.join(',')}`
  process.stderr.write(`${describeViolation(violation)}\n${replayLine}\n`)
}

function tellCounts(
  counts: FuzzResult['counts'],
  requests: number,
  violations: number,
  { user, system }: NodeJS.CpuUsage,
): void {
  for (const [operation, statuses] of Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const cells = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`)
    process.stdout.write(`  ${operation.padEnd(24)} ${cells.join('  ')}\n`)
  }
  const seconds = Math.round((user + system) / 1e6)
  const held = violations === 0 ? 'every law held' : `${violations} kinds of violations`
  process.stdout.write(`${requests.toLocaleString('en')} requests in ${seconds} s of CPU time: ${held}.\n`)
}
