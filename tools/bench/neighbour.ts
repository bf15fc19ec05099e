/** How long another client of a server waits beside the longest answers and moves. */
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { atMost, type Bench, type Group, type Measured } from './figure.ts'
import { commandOf } from './installed.ts'
import { besideFirstCore, pinned, scriptOf } from './worker.ts'

const NAME = 'neighbour_wait_ms'
const FIXTURE = 'fleet'
/** How often each piece of work is measured. */
const TURNS = 2

export const neighbour: Group = {
  name: 'neighbour',
  figures: [{ name: NAME, unit: 'ms of CPU', goal: atMost(100), run: longestWait }],
}

/** Takes the best turn of each piece of work, and of these pieces the one with the longest wait. */
async function longestWait(bench: Bench): Promise<Measured> {
  bench.progress(NAME)
  const best = await besideFirstCore(() => waits(bench))
  const beside = Object.entries(best).map(([work, ms]) => `${work} ${Math.round(ms)} ms`)
  return { value: Math.max(...Object.values(best)), beside: beside.join(', ') }
}

/** Returns the longest wait of a GET in another world beside each piece of work, in ms of CPU: the least of its turns. */
async function waits(bench: Bench): Promise<Record<string, number>> {
  const command = [commandOf(bench, 'installed'), 'serve', '--port', '0', '--clock', 'manual', '--fixtures', FIXTURE]
  const served = pinned(bench, NAME, 'first', ['--import', scriptOf(bench, 'neighbour'), ...command])
  const { token } = loadFixture(FIXTURE).api_tokens[0]!
  try {
    const url = await served.url
    const send = async (method: string, path: string, body?: object) => {
      const isForm = body instanceof FormData
      const headers = { authorization: `Bearer ${token}`, ...(!isForm && { 'content-type': 'application/json' }) }
      const response = await fetch(url + path, {
        method,
        headers,
        ...(body && { body: isForm ? body : JSON.stringify(body) }),
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
      return text
    }
    const least: Record<string, number> = {}
    const measure = async (work: string, method: string, path: string, body?: object) => {
      await served.ask('longest')
      await send(method, path, body)
      const { ms } = await served.ask<{ ms: number }>('longest')
      least[work] = Math.min(least[work] ?? Number.POSITIVE_INFINITY, ms)
    }
    await send('POST', '/_sim/past')
    for (let day = 0; day < (bench.quick ? 1 : 7); day++) await send('POST', '/_sim/clock/advance', { by: '24h' })
    const other = JSON.parse(await send('POST', '/_sim/worlds', { fixtures: 'default', clock: 'manual' }))
    await served.ask('beside', { url: `${url}/v1/models`, token: other.token })
    for (let turn = 0; turn < TURNS; turn++) {
      await measure('metrics', 'GET', '/_sim/metrics')
      await measure('page', 'GET', '/_sim/page')
    }
    const model = JSON.parse(await send('GET', '/v1/models')).data[0].id
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('file', new Blob([inputOf(model, bench.quick ? 500 : 50_000)]), 'in.jsonl')
    const file = JSON.parse(await send('POST', '/v1/files', form))
    const order = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }
    for (let turn = 0; turn < TURNS; turn++) {
      const { id } = JSON.parse(await send('POST', '/v1/batches', order))
      await measure('batch', 'POST', '/_sim/clock/advance', { by: '12h' })
      const { status } = JSON.parse(await send('GET', `/v1/batches/${id}`))
      if (status !== 'completed') throw new Error(`the batch is ${status}`)
    }
    return least
  } finally {
    served.end()
  }
}

function inputOf(model: string, lines: number): string {
  return Array.from({ length: lines }, (_, i) => {
    const messages = [
      { role: 'user', content: `Summarize the ticket in one sentence, and name the product: ticket ${i}.` },
    ]
    return JSON.stringify({
      custom_id: `line-${i}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model, messages, max_tokens: 64 },
    })
  }).join('\n')
}
