/**
 * `npm run soak -- events`: 1,000,000 requests while three processes read the live events, of which one stops reading. The
 * other two have to get every request, the memory of the server has to stay flat, and the stopped one is dropped. The same
 * requests without readers show what reading costs.
 *
 * `npm run soak -- events --requests 50000` is a shorter one. `--over http` sends the requests over HTTP.
 */
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { eventLoopTurn, processUsage, realDelay } from '../../src/lib/real-time.ts'
import { createControlClient } from '../../src/server/control/client/index.ts'
import { serve } from '../../src/server/http/server.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

/** Requests between two turns of the event loop, as with clients at full speed. */
const AT_ONCE = 20
const SAMPLES = 20
/** Memory may grow by this many megabytes between the second fifth of the requests and the last. */
const FLAT_MB = 40

const { values } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '1000000' },
    over: { type: 'string', default: 'process' },
    read: { type: 'string' },
  },
})
const total = Number(values.requests)
if (!Number.isSafeInteger(total) || total < 1_000) {
  throw new RangeError(`Failed to soak with '${values.requests}' requests. Give a whole number from 1,000.`)
}
if (values.read === undefined) await soak()
else await read(values.read)

/** Reads all requests, in a process of its own, and prints how many they were. */
async function read(url: string): Promise<void> {
  let requests = 0
  let lost = 0
  for await (const event of createControlClient({ url }).events({ kind: 'request', after: 'start' })) {
    if (event.type === 'request') requests++
    if (event.type === 'gap') lost += event.requests
    if (requests + lost >= total || event.type === 'end') break
  }
  process.stdout.write(`${requests} ${lost}\n`)
}

async function soak(): Promise<void> {
  const without = await play(false)
  const withReaders = await play(true)
  const ratio = withReaders.cpuMicros / without.cpuMicros
  print(
    `${without.cpuMicros.toFixed(1)} µs of CPU a request without readers, ${withReaders.cpuMicros.toFixed(1)} with (ratio ${ratio.toFixed(2)})`,
  )
  const [early, late] = [withReaders.memory[Math.floor(SAMPLES / 5) * 2]!, withReaders.memory.at(-1)!]
  const isFlat = late - early < FLAT_MB
  const isComplete = withReaders.counts.every(({ requests, lost }) => requests === total && lost === 0)
  print(
    `server ${early.toFixed(0)} MB, then ${late.toFixed(0)} MB; readers got ${withReaders.counts.map(({ requests }) => requests).join(' and ')} of ${total}`,
  )
  print(withReaders.isDropped ? 'the stopped reader was dropped' : 'the stopped reader was NOT dropped')
  const held = isFlat && isComplete && withReaders.isDropped
  print(held ? 'passed' : 'FAILED')
  process.exitCode = held ? 0 : 1
}

interface Played {
  readonly cpuMicros: number
  /** Resident megabytes. */
  readonly memory: readonly number[]
  readonly counts: readonly { readonly requests: number; readonly lost: number }[]
  readonly isDropped: boolean
}

async function play(hasReaders: boolean): Promise<Played> {
  const sim = createSimulator({ fixtures: 'empty', seed: 1 })
  const server = await serve(sim, { port: 0 })
  const readers = hasReaders ? [startReader(server.url), startReader(server.url)] : []
  const stopped = hasReaders ? connect(server.port, '127.0.0.1') : undefined
  stopped?.pause().write('GET /_sim/events?kind=request HTTP/1.1\r\nhost: localhost\r\n\r\n')
  while (sim.requestLog.listeners < (hasReaders ? 3 : 0)) await eventLoopTurn()
  const headers = { authorization: `Bearer ${sim.token}` }
  const base = values.over === 'http' ? server.url : 'http://sim'
  const send = values.over === 'http' ? fetch : sim.fetch
  const memory: number[] = []
  const start = processUsage()!.cpuSeconds
  for (let sent = 0; sent < total; sent += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, total - sent) }, async () => {
      await (await send(`${base}/v1/me`, { headers })).arrayBuffer()
    })
    await Promise.all(batch)
    await eventLoopTurn()
    if (sent % (total / SAMPLES) < AT_ONCE) memory.push(processUsage()!.residentBytes / 1_048_576)
  }
  const cpuMicros = ((processUsage()!.cpuSeconds - start) * 1e6) / total
  const counts = await Promise.all(readers)
  // It has a second to read again.
  for (let waits = 0; sim.requestLog.listeners > 0 && waits < 30; waits++) await realDelay(100)
  const isDropped = sim.requestLog.listeners === 0
  stopped?.destroy()
  await server.close()
  return { cpuMicros, memory, counts, isDropped }
}

function startReader(url: string): Promise<{ requests: number; lost: number }> {
  const args = [...process.execArgv, import.meta.filename, '--read', url, '--requests', String(total)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return new Promise((resolve, reject) => {
    let printed = ''
    child.stdout.on('data', chunk => {
      printed += chunk
    })
    child.once('exit', code => {
      const [requests, lost] = printed.trim().split(' ').map(Number)
      if (code === 0 && requests !== undefined && lost !== undefined) resolve({ requests, lost })
      else reject(new Error(`Failed to read events: the reader exited with ${code}.`))
    })
  })
}

function print(text: string): void {
  process.stdout.write(`soak: ${text}\n`)
}
