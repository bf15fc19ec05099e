/** The server, against a bare `node:http` server that answers the same. */
import { atLeast, type Bench, type Figure, type Group } from './figure.ts'
import { commandOf, folderOf } from './installed.ts'
import { throughput, type Window } from './measure.ts'
import type { BareAnswers } from './processes/bare.ts'
import type { Load, Loaded } from './processes/load.ts'
import { boundless, creation } from './stage.ts'
import { pinned, scriptOf, type Worker } from './worker.ts'

const LISTED = 20
const CONNECTIONS = 16

/** What a figure asks for, of ours and of the bare server alike. */
interface Asked {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Sent under a new name each time. */
  readonly body?: { readonly model_name: string }
}

export const server: Group = {
  name: 'server',
  figures: [
    figure('get_one_rps', 0.6, ids => ({ method: 'GET', path: `/deploy/${ids[0]}` })),
    figure('get_list_rps', 1, () => ({ method: 'GET', path: '/deploy/list' })),
    figure('create_rps', 0.6, () => ({ method: 'POST', path: '/deploy/llm', body: creation('made') })),
  ],
}

function figure(name: string, goal: number, ask: (ids: readonly string[]) => Asked): Figure {
  const unit = 'requests per CPU second'
  return { name, unit, goal: atLeast(goal, 'ratio'), run: bench => against(bench, name, ask) }
}

async function against(bench: Bench, name: string, ask: (ids: readonly string[]) => Asked) {
  bench.progress(`${name}: starting`)
  const fixture = boundless()
  const headers = {
    authorization: `Bearer ${fixture.api_tokens[0]!.token}`,
    'content-type': 'application/json',
  }
  const folder = folderOf(bench, 'boundless', fixture)
  const command = [commandOf(bench, 'installed'), 'serve', '--port', '0', '--clock', 'manual', '--fixtures', folder]
  // The servers share a core, on which only one of them has anything to do at a time; the load has the other.
  const served = pinned(bench, `${name}.served`, 'first', ['--import', scriptOf(bench, 'probe'), ...command])
  const bare = pinned(bench, `${name}.bare`, 'first', [scriptOf(bench, 'bare')])
  const load = pinned(bench, `${name}.load`, 'last', [scriptOf(bench, 'load')])
  try {
    const url = await served.url
    const asked = ask(await listed(url, headers))
    const answers: BareAnswers = { [`${asked.method} ${asked.path}`]: await call(url, asked, headers) }
    const bareUrl = await bare.ask<string>('start', answers)

    const measure = async (target: Worker, at: string): Promise<Window> => {
      const { cpuMicros: before } = await target.ask<{ cpuMicros: number }>('cpu')
      const loaded = await load.ask<Loaded>('load', {
        ...asked,
        url: at + asked.path,
        headers,
        connections: CONNECTIONS,
        ms: bench.windowMs,
      } satisfies Load)
      const { cpuMicros: after } = await target.ask<{ cpuMicros: number }>('cpu')
      if (loaded.refused > 0) throw new Error(`${loaded.refused} of ${loaded.requests} were not answered with 200`)
      return { operations: loaded.requests, cpuMicros: after - before, wallMs: loaded.ms }
    }
    const ours = async () => {
      // What one window creates must not weigh on the next.
      await listed(url, headers)
      return measure(served, url)
    }
    return await throughput(bench, name, ours, () => measure(bare, bareUrl))
  } finally {
    for (const worker of [served, bare, load]) worker.end()
  }
}

/** Starts the world anew and creates the deployments of the list; their ids, the same each time. */
async function listed(url: string, headers: Record<string, string>): Promise<string[]> {
  await call(url, { method: 'POST', path: '/_sim/reset' }, headers)
  const ids: string[] = []
  for (let i = 0; i < LISTED; i++) {
    const asked = { method: 'POST', path: '/deploy/llm', body: creation(`listed-${i}`) } as const
    ids.push(((await call(url, asked, headers)) as { deploy_id: string }).deploy_id)
  }
  return ids
}

async function call(url: string, asked: Asked, headers: Record<string, string>): Promise<unknown> {
  const { method, path, body } = asked
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
  return response.json()
}
