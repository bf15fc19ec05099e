/**
 * An unmodified client under fake timers: it waits for a deployment and a batch of two hours, and for a batch that
 * expires after a day. Uses the transport that the first argument names, as often as the second says. Prints the measured times as
 * JSON on stdout.
 */
import { createHash } from 'node:crypto'
import { install } from '@sinonjs/fake-timers'
import { createSimulator, type Simulator } from 'modelhost-sim'
import { pollingClient, type Waited } from '../../../test/simulator/clock/polling-client.ts'
import type { LockstepRun, Story } from '../lockstep.ts'

const [transport = 'fetch', times = '10'] = process.argv.slice(2)
const BASE = 'https://api.bench.test'
const MODEL = 'aurora-labs/aurora-8b-instruct'
// The client tells the day by it too; nothing of the wall may show.
const EPOCH = Date.UTC(2026, 0, 1)

/** So little shared capacity that the batch takes as long as its story says. */
const stories: Record<Story, { tokensPerSecond: number; hours: number; batches: number; deploys: boolean }> = {
  'two hours': { tokensPerSecond: 2, hours: 4, batches: 200, deploys: true },
  'a day': { tokensPerSecond: 0.1, hours: 25, batches: 200, deploys: false },
}

const runs: Partial<Record<Story, LockstepRun>> = {}
for (const story of Object.keys(stories) as Story[]) runs[story] = await runsOf(story)
process.stdout.write(`${JSON.stringify({ node: process.version, transport, runs })}\n`)

async function runsOf(story: Story): Promise<LockstepRun> {
  // Not counted: what is compiled once, and the real request after which undici has its timer.
  const first = await live(story)
  const traces = new Set([first.trace])
  let [wallMs, cpuMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let run = 1; run < Number(times); run++) {
    const next = await live(story)
    traces.add(next.trace)
    wallMs = Math.min(wallMs, next.wallMs)
    cpuMs = Math.min(cpuMs, next.cpuMs)
  }
  const { outcomes, polls, trace } = first
  return { outcomes, polls, trace, times: Number(times), traces: traces.size, wallMs, cpuMs }
}

/** Loaded only when it is asked for: not every msw runs on every Node. */
async function intercepting(sim: Simulator) {
  const [{ setupServer }, { handlers, listenOptions }] = await Promise.all([
    import('msw/node'),
    import('modelhost-sim/msw'),
  ])
  const server = setupServer(...handlers(sim, { baseUrl: BASE }))
  server.listen(listenOptions)
  return server
}

async function live(story: Story) {
  const { tokensPerSecond, hours, batches, deploys } = stories[story]
  const sim = createSimulator({
    profile: {
      extends: 'realistic',
      timings: { batch_shared_tokens_per_second: tokensPerSecond, batch_shared_day_swing: 0 },
    },
  })
  const headers = { authorization: `Bearer ${sim.token}` }
  const server = transport === 'msw' ? await intercepting(sim) : undefined
  const fetch: typeof globalThis.fetch = transport === 'msw' ? (...args) => globalThis.fetch(...args) : sim.fetch
  // With msw 3 on Node 24 undici's own timer would be born fake.
  await (await fetch(`${BASE}/deploy/list`, { headers })).text()
  const timers = install({ now: EPOCH, toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  try {
    const client = pollingClient({ fetch, baseUrl: BASE, token: sim.token })
    const cpu = process.cpuUsage()
    const began = process.hrtime.bigint()
    const waiting: Promise<Waited>[] = [client.batch(MODEL, batches)]
    if (deploys) waiting.push(client.deploy('chat'))
    await sim.clock.advance(`${hours}h`)
    const waited = await Promise.all(waiting)
    const wallMs = Number(process.hrtime.bigint() - began) / 1e6
    const { user, system } = process.cpuUsage(cpu)
    const entries = sim.journal.entries()
    return {
      outcomes: waited.map(({ outcome }) => outcome),
      polls: waited.reduce((sum, { polls }) => sum + polls, 0),
      trace: hashOf([waited, entries.map(({ time, kind, subject }) => `${time} ${kind} ${subject}`)]),
      wallMs,
      cpuMs: (user + system) / 1000,
    }
  } finally {
    timers.uninstall()
    server?.close()
    await sim[Symbol.asyncDispose]()
  }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
