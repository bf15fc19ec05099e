/** A server that records, against the same server without a recording. */
import { join } from 'node:path'
import { atLeast, type Bench, type Figure, type Group } from './figure.ts'
import { commandOf, folderOf } from './installed.ts'
import { throughput, type Window } from './measure.ts'
import type { Load, Loaded } from './processes/load.ts'
import { type Asked, chat, chatting, type Headers, listed } from './server.ts'
import { boundless } from './stage.ts'
import { pinned, scriptOf, type Worker } from './worker.ts'

const CONNECTIONS = 16
/** Recording may cost three tenths of a request. */
const GOAL = atLeast(0.77, 'ratio')

export const recorder: Group = {
  name: 'recorder',
  figures: [
    figure('recorded_get_rps', async (url, headers) => {
      const ids = await listed(url, headers)
      return { method: 'GET', path: `/deploy/${ids[0]}` }
    }),
    figure('recorded_chat_rps', async (url, headers) => {
      await chatting(url, headers)
      return chat({})
    }),
  ],
}

/** @param arrange resets the world to the same state each time and returns the request to send */
function figure(name: string, arrange: (url: string, headers: Headers) => Promise<Asked>): Figure {
  return { name, unit: 'requests per CPU second', goal: GOAL, run: bench => compare(bench, name, arrange) }
}

async function compare(bench: Bench, name: string, arrange: (url: string, headers: Headers) => Promise<Asked>) {
  bench.progress(`${name}: starting`)
  const fixture = boundless()
  const headers = { authorization: `Bearer ${fixture.api_tokens[0]!.token}`, 'content-type': 'application/json' }
  const folder = folderOf(bench, 'boundless', fixture)
  const command = [commandOf(bench, 'installed'), 'serve', '--port', '0', '--clock', 'manual', '--fixtures', folder]
  const file = join(bench.outdir, `${name}-${process.pid}.ndjson`)
  const start = (kind: string, args: readonly string[]) =>
    pinned(bench, `${name}.${kind}`, 'first', ['--import', scriptOf(bench, 'probe'), ...command, ...args])
  const recorded = start('recorded', ['--record', file])
  const plain = start('plain', [])
  const load = pinned(bench, `${name}.load`, 'last', [scriptOf(bench, 'load')])
  try {
    const measure = async (target: Worker): Promise<Window> => {
      const url = await target.url
      const { method, path, body } = await arrange(url, headers)
      const { cpuMicros: before } = await target.ask<{ cpuMicros: number }>('cpu')
      const loaded = await load.ask<Loaded>('load', {
        ...{ method, headers, url: url + path, connections: CONNECTIONS, ms: bench.windowMs },
        ...(body && { body }),
      } satisfies Load)
      const { cpuMicros: after } = await target.ask<{ cpuMicros: number }>('cpu')
      return { operations: loaded.requests, cpuMicros: after - before, wallMs: loaded.ms }
    }
    return await throughput(
      bench,
      name,
      () => measure(recorded),
      () => measure(plain),
    )
  } finally {
    for (const worker of [recorded, plain, load]) worker.end()
  }
}
