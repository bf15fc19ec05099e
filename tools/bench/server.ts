/** The server, against a bare `node:http` server that answers the same. */
import { atLeast, type Bench, type Figure, type Goal, type Group } from './figure.ts'
import { commandOf, folderOf } from './installed.ts'
import { throughput, type Window } from './measure.ts'
import type { BareAnswers } from './processes/bare.ts'
import type { Load, Loaded } from './processes/load.ts'
import { boundless, creation } from './stage.ts'
import { pinned, scriptOf, type Worker } from './worker.ts'

const LISTED = 20
const CONNECTIONS = 16

/** What a figure asks for, of ours and of the bare server alike. */
export interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** JSON; `{nth}` in it is another number each time. */
  readonly body?: string
  /** The field of the body that the answer repeats. */
  readonly repeats?: string
}

export type Headers = Readonly<Record<string, string>>

const CHAT = {
  model: 'acme/chat',
  messages: [
    { role: 'system', content: 'You are the assistant of a travel office. Be brief, and name your sources.' },
    { role: 'user', content: 'Which rivers of Europe can be travelled by canoe in spring, and how long does it take?' },
  ],
}
export const chat = (more: object): Asked => ({
  ...{ method: 'POST', path: '/v1/chat/completions', repeats: 'model' },
  body: JSON.stringify({ ...CHAT, ...more }),
})

export const server: Group = {
  name: 'server',
  figures: [
    figure('get_one_rps', atLeast(0.75, 'ratio'), async (url, headers) => {
      const ids = await listed(url, headers)
      return { method: 'GET', path: `/deploy/${ids[0]}` }
    }),
    figure('get_list_rps', atLeast(1.2, 'ratio'), async (url, headers) => {
      await listed(url, headers)
      return { method: 'GET', path: '/deploy/list' }
    }),
    figure('create_rps', atLeast(0.6, 'ratio'), async (url, headers) => {
      await listed(url, headers)
      const body = JSON.stringify(creation('made-{nth}'))
      return { method: 'POST', path: '/deploy/llm', body, repeats: 'model_name' }
    }),
    figure('chat_rps', atLeast(0.4, 'ratio'), async (url, headers) => {
      await chatting(url, headers)
      return chat({})
    }),
    {
      name: 'stream_tokens_per_s',
      unit: 'tokens per CPU second',
      goal: atLeast(0.6, 'ratio'),
      run: bench =>
        against(bench, 'stream_tokens_per_s', async (url, headers) => {
          await chatting(url, headers)
          return chat({ stream: true })
        }),
    },
  ],
}

/** @param arrange resets the world to the same state each time and returns the requests to send */
function figure(name: string, goal: Goal, arrange: (url: string, headers: Headers) => Promise<Asked>): Figure {
  return { name, unit: 'requests per CPU second', goal, run: bench => against(bench, name, arrange) }
}

async function against(bench: Bench, name: string, arrange: (url: string, headers: Headers) => Promise<Asked>) {
  bench.progress(`${name}: starting`)
  const fixture = boundless()
  const headers = {
    authorization: `Bearer ${fixture.api_tokens[0]!.token}`,
    'content-type': 'application/json',
  }
  const folder = folderOf(bench, 'boundless', fixture)
  // On a stopped clock answers of models come at once: no pace is measured.
  const command = [commandOf(bench, 'installed'), 'serve', '--port', '0', '--clock', 'manual', '--fixtures', folder]
  // The servers share a core, on which only one of them has anything to do at a time; the load has the other.
  const served = pinned(bench, `${name}.served`, 'first', ['--import', scriptOf(bench, 'probe'), ...command])
  const bare = pinned(bench, `${name}.bare`, 'first', [scriptOf(bench, 'bare')])
  const load = pinned(bench, `${name}.load`, 'last', [scriptOf(bench, 'load')])
  try {
    const url = await served.url
    const asked = await arrange(url, headers)
    const { text, isStream } = await call(url, asked, headers)
    // An event that says nothing new is not a token: the first, the last, and the end.
    const events = isStream ? text.split('\n\n').length - 1 : undefined
    const tokens = events === undefined ? 1 : events - 3
    const answers: BareAnswers = {
      [`${asked.method} ${asked.path}`]: { text, isStream, ...(asked.repeats && { repeats: asked.repeats }) },
    }
    const bareUrl = await bare.ask<string>('start', answers)

    const measure = async (target: Worker, at: string): Promise<Window> => {
      const { cpuMicros: before } = await target.ask<{ cpuMicros: number }>('cpu')
      const { method, path, body } = asked
      const loaded = await load.ask<Loaded>(isStream ? 'streams' : 'load', {
        ...{ method, headers, url: at + path, connections: CONNECTIONS, ms: bench.windowMs },
        ...(body && { body }),
        ...(events && { events, length: text.length }),
      } satisfies Load)
      const { cpuMicros: after } = await target.ask<{ cpuMicros: number }>('cpu')
      if (loaded.refused > 0)
        throw new Error(`${loaded.refused} of ${loaded.requests} were not answered as they should be`)
      return { operations: loaded.requests * tokens, cpuMicros: after - before, wallMs: loaded.ms }
    }
    const ours = async () => {
      // What one window creates must not weigh on the next.
      await arrange(url, headers)
      return measure(served, url)
    }
    return await throughput(bench, name, ours, () => measure(bare, bareUrl))
  } finally {
    for (const worker of [served, bare, load]) worker.end()
  }
}

/** Resets the world and creates the deployments of the list. Returns their ids, the same each time. */
export async function listed(url: string, headers: Headers): Promise<string[]> {
  await call(url, { method: 'POST', path: '/_sim/reset' }, headers)
  const ids: string[] = []
  for (let i = 0; i < LISTED; i++) ids.push(await created(url, headers, `listed-${i}`))
  return ids
}

/** Resets the world and starts a deployment that can answer chats. */
export async function chatting(url: string, headers: Headers): Promise<void> {
  await call(url, { method: 'POST', path: '/_sim/reset' }, headers)
  await created(url, headers, 'chat')
  await call(url, { method: 'POST', path: '/_sim/clock/advance', body: '{"by":"1h"}' }, headers)
}

async function created(url: string, headers: Headers, name: string): Promise<string> {
  const asked: Asked = { method: 'POST', path: '/deploy/llm', body: JSON.stringify(creation(name)) }
  return JSON.parse((await call(url, asked, headers)).text).deploy_id
}

async function call(url: string, { method, path, body }: Asked, headers: Headers) {
  const response = await fetch(url + path, { method, headers, ...(body && { body: body.replace('{nth}', '0') }) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return { text, isStream: response.headers.get('content-type')!.startsWith('text/event-stream') }
}
