/**
 * `npm run soak -- streams`: 200 streaming chats at once for ten minutes, from another process than the server's. Every stream has to
 * be whole and right, and the server's memory flat. Then 10,000 streams are left in the middle, and none holds its place.
 *
 * `npm run soak -- streams --minutes 1` is a shorter one.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = resolve(import.meta.dirname, '../..')
const AT_ONCE = 200
const LEFT = 10_000
const PROMPTS = 40
const MODEL = 'acme/assistant'
const SAMPLE_MS = 5_000
/** Memory may differ by this share, or these megabytes, between the second fifth of the time and the last. */
const FLAT_SHARE = 0.15
const FLAT_MB = 30
/** Minutes from which on memory is judged. */
const SHORTEST = 3

const { values } = parseArgs({ args: process.argv.slice(3), options: { minutes: { type: 'string', default: '10' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new RangeError(`Failed to soak for '${values.minutes}' minutes. Give a number above 0.`)

const { server, url } = await started()
try {
  const right = await rightTexts()
  const held = await stream200(right)
  await leave()
  process.stdout.write(held ? 'soak: passed\n' : 'soak: FAILED\n')
  process.exitCode = held ? 0 : 1
} finally {
  server.kill('SIGTERM')
}

function started(): Promise<{ server: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [join(ROOT, 'bin/modelhost-sim.js'), 'serve', '--port', '0', '--speed', '60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((found, failed) => {
    let printed = ''
    child.stdout.on('data', chunk => {
      printed += chunk
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)
      if (address) found({ server: child, url: address[0] })
    })
    child.once('exit', code => failed(new Error(`Failed to start the server: it exited with ${code}.`)))
  })
}

function ask(prompt: number, stream: boolean, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sim_default_token', 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: `Prompt ${prompt}` }], stream }),
    ...(signal && { signal }),
  })
}

async function rightTexts(): Promise<string[]> {
  const texts: string[] = []
  for (let i = 0; i < PROMPTS; i++) {
    const answer = (await (await ask(i, false)).json()) as { choices: { message: { content: string } }[] }
    texts.push(answer.choices[0]!.message.content)
  }
  return texts
}

function textOf(events: string): string {
  return events
    .split('\n\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice('data: '.length)).choices[0]?.delta.content ?? '')
    .join('')
}

async function stream200(right: readonly string[]): Promise<boolean> {
  const until = performance.now() + minutes * 60_000
  let whole = 0
  let wrong = 0
  const memory: number[] = []
  const watch = setInterval(() => {
    memory.push(residentMb())
    process.stdout.write(`soak: ${whole} whole, ${wrong} wrong, server ${memory.at(-1)!.toFixed(0)} MB\n`)
  }, SAMPLE_MS)
  const client = async (nth: number) => {
    for (let i = nth; performance.now() < until; i += 7) {
      try {
        const answer = await ask(i % PROMPTS, true)
        const events = await answer.text()
        const isWhole =
          answer.status === 200 && events.endsWith('data: [DONE]\n\n') && textOf(events) === right[i % PROMPTS]
        if (isWhole) whole++
        else if (wrong++ < 5) process.stdout.write(`soak: ${answer.status} ${events.slice(-200)}\n`)
      } catch (error) {
        const { message, cause } = error as Error
        if (wrong++ < 5) process.stdout.write(`soak: ${message}${cause === undefined ? '' : `: ${String(cause)}`}\n`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, nth) => client(nth)))
  clearInterval(watch)
  const fifth = Math.max(1, Math.floor(memory.length / 5))
  const mean = (samples: readonly number[]) => samples.reduce((sum, one) => sum + one, 0) / Math.max(1, samples.length)
  const [early, late] = [mean(memory.slice(fifth, 2 * fifth)), mean(memory.slice(-fifth))]
  // A server that has just started still grows: a short run says nothing of its memory.
  const isFlat = minutes < SHORTEST || late - early <= Math.max(FLAT_MB, early * FLAT_SHARE)
  process.stdout.write(
    `soak: ${whole} streams whole (${(whole / minutes / 60).toFixed(0)}/s), ${wrong} wrong; server ${early.toFixed(0)} MB, then ${late.toFixed(0)} MB\n`,
  )
  return wrong === 0 && whole > 0 && isFlat
}

/** Leaves streams in the middle; then as many as the limit allows must find a place. */
async function leave(): Promise<void> {
  let left = 0
  const client = async () => {
    while (left < LEFT) {
      left++
      const controller = new AbortController()
      const answer = await ask(left % PROMPTS, true, controller.signal)
      await answer.body!.getReader().read()
      controller.abort()
    }
  }
  await Promise.all(Array.from({ length: 50 }, client))
  const after = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, i) =>
      ask(i % PROMPTS, true).then(async answer => [answer.status, await answer.text()] as const),
    ),
  )
  const refused = after.filter(([status]) => status !== 200)
  if (refused.length > 0) throw new Error(`Failed: ${refused.length} of ${AT_ONCE} found no place: ${refused[0]![1]}`)
  process.stdout.write(
    `soak: ${left} streams left in the middle, server ${residentMb().toFixed(0)} MB, and ${AT_ONCE} new ones found a place\n`,
  )
}

function residentMb(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024
}
