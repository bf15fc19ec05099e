/** What open streams cost: to open one, to keep one, and to move time while one is read. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createSimulator, type Simulator } from 'modelhost-sim'

/** Costs of one stream among as many as are open at once. */
export interface StreamCosts {
  /** ms of CPU from the request to its open stream. */
  readonly open: number
  /** ms of CPU for a piece of its answer, from the move of time to its reader. */
  readonly piece: number
  /** kB of heap and buffers while it is open, with its reader and its response. */
  readonly memory: number
}

/** For so long time is moved in steps of 100 ms, while most of the streams are open. */
const STEPS = 5

/** Opens so many chats of a catalog model at once, reads them, and moves time. */
export async function streamCosts(count: number): Promise<StreamCosts> {
  // The simulator names each request that waits for more than some seconds of real time, which is so on a busy machine.
  const { warn } = console
  console.warn = () => {}
  try {
    return await measured(count)
  } finally {
    console.warn = warn
  }
}

async function measured(count: number): Promise<StreamCosts> {
  const sim = createSimulator({
    fixtures: 'empty',
    with: { account: { funds_cents: 1_000_000_000 } },
    profile: { extends: 'realistic', limits: { requests_in_flight: count } },
    inferencePace: 'clock',
  })
  // Loads the tokenizer.
  await sim.clock.advance('1s')
  const memoryBefore = keptBytes()
  const cpuBefore = cpuMs()
  const responses: Response[] = []
  const opening = Array.from({ length: count }, async (_, i) => responses.push(await ask(sim, i)))
  while (responses.length < count) {
    await turn()
    if (responses.length < count) await sim.clock.advance('10ms')
  }
  await Promise.all(opening)
  let pieces = 0
  let ended = 0
  for (const { body } of responses) {
    void read(body!, () => pieces++).finally(() => ended++)
  }
  await turn()
  const open = (cpuMs() - cpuBefore) / count
  const memory = (keptBytes() - memoryBefore) / 1000 / count
  const [cpuBeforeSteps, piecesBefore] = [cpuMs(), pieces]
  for (let i = 0; i < STEPS; i++) {
    await sim.clock.advance('100ms')
    await turn()
  }
  const piece = (cpuMs() - cpuBeforeSteps) / (pieces - piecesBefore)
  if (pieces < count || ended > count / 2) {
    throw new Error(`${count} streams had ${pieces} pieces, and ${ended} of them ended`)
  }
  // Breaks the streams that are still open. Their end would take as long as all before.
  await sim[Symbol.asyncDispose]()
  return { open, piece, memory }
}

/** Reads a stream until it ends or breaks. */
async function read(body: ReadableStream<Uint8Array>, onPiece: () => void): Promise<void> {
  const reader = body.getReader()
  try {
    while (!(await reader.read()).done) onPiece()
  } catch {
    // The world of the stream is gone.
  }
}

async function ask(sim: Simulator, nth: number): Promise<Response> {
  const response = await sim.fetch('https://api.bench.test/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'aurora-labs/aurora-8b-instruct',
      messages: [{ role: 'user', content: `Tell story ${nth}.` }],
      stream: true,
    }),
  })
  if (!response.ok) throw new Error(`a stream was answered ${response.status}: ${await response.text()}`)
  return response
}

/** Lets readers take what is due. */
const turn = () => new Promise<void>(resolve => setImmediate(() => setImmediate(resolve)))

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Returns the bytes that a full collection leaves. */
function keptBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
