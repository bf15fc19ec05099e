/** Clients that pass on sound or other bytes, in many forms of results: garbled or cut ones are not taken for whole ones. */

import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { exploreRuns } from '../../../src/workbench/explore/explore.ts'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { batchFile } from '../../setup/batches.ts'
import { sendTo } from '../../setup/send-to.ts'
import { runnerOf } from './small-clients.ts'

const SPEECH = { model: 'larkspur-audio/lark-tts-1', input: 'Hello there, friends of the sea.', response_format: 'wav' }

async function speak({ fetch, url, token, sleep }: FlowContext): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (let attempt = 0; ; attempt++) {
    const init = { method: 'POST', headers, body: JSON.stringify(SPEECH), signal: AbortSignal.timeout(60_000) }
    const response = await fetch(`${url}/v1/audio/speech`, init).catch(error => {
      if (attempt === 5) throw error
    })
    if (response?.ok) return response
    if (attempt === 5) throw new Error('no sound')
    await sleep(30_000)
  }
}

const bytesOf = async (context: FlowContext) => new Uint8Array(await (await speak(context)).arrayBuffer())

/** Reads what comes, up to a break. */
async function whatCame(context: FlowContext): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  try {
    for await (const part of (await speak(context)).body!) parts.push(part)
  } catch {}
  return new Uint8Array(Buffer.concat(parts))
}

async function upload(context: FlowContext, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const response = await sendTo(context, 'POST /v1/files', batchFile(bytes, 'hello.jsonl'))
  if (!response.ok) throw new Error(`status ${response.status}`)
  return ((await response.json()) as { id: string }).id
}

const digest = (algorithm: string, encoding: 'hex' | 'base64') => async (context: FlowContext) => ({
  digest: createHash(algorithm)
    .update(await bytesOf(context))
    .digest(encoding),
})

/** Returns what single faults find in a client that did not ask for more than one answer of bytes. */
async function findingsOf(run: (context: FlowContext) => Promise<unknown>) {
  const classes = ['status503', 'rateLimit', 'reset', 'refused', 'html', 'truncated', 'garbled', 'latency'] as const
  const { findings, matrix } = await exploreRuns(runnerOf(run), { name: 'client', faults: 'singles', classes })
  return {
    invariants: [...new Set(findings.map(({ invariant }) => invariant))],
    found: matrix.filter(({ found }) => found > 0).map(cell => `${cell.operation} ${cell.class}`),
  }
}

test.each<[string, (context: FlowContext) => Promise<unknown>]>([
  ['a typed array', bytesOf],
  ['a buffer', async context => ({ sound: (await bytesOf(context)).buffer })],
  ['a view', async context => new Map([['sound', new DataView((await bytesOf(context)).buffer)]])],
  ['a blob', async context => ({ sound: await (await speak(context)).blob() })],
  ['a file', async context => [new File([await bytesOf(context)], 'hello.wav')]],
  ['base64', async context => ({ sound: Buffer.from(await bytesOf(context)).toString('base64') })],
  ['a data URL', async context => `data:audio/wav;base64,${Buffer.from(await bytesOf(context)).toString('base64')}`],
  ['numbers', async context => ({ sound: [...(await bytesOf(context))] })],
  ['a digest in hexadecimal digits', digest('sha256', 'hex')],
  ['a digest in base64', digest('md5', 'base64')],
])('garbled sound in %s is found', async (_, run) => {
  expect(await findingsOf(run)).toEqual({ invariants: ['noSilentLoss'], found: ['createSpeech garbled'] })
})

test('a length is that of the whole, also of garbled sound', async () => {
  const { invariants } = await findingsOf(async context => ({ bytes: (await bytesOf(context)).length }))
  expect(invariants).toEqual([])
})

test.each<[string, (context: FlowContext) => Promise<unknown>]>([
  ['bytes', whatCame],
  ['a length', async context => ({ bytes: (await whatCame(context)).length })],
])('sound that is cut is found by %s', async (_, run) => {
  const { invariants, found } = await findingsOf(run)
  expect(invariants).toEqual(['noSilentLoss'])
  expect(found).toContain('createSpeech truncated')
})

test('sound that is stored as it came is found, although the result is as usual', async () => {
  const { invariants, found } = await findingsOf(async context => {
    await upload(context, await bytesOf(context))
    return 'stored'
  })
  expect(invariants).toEqual(['doneAsSaid'])
  expect(found).toEqual(['createSpeech garbled'])
})

test.each<[string, (context: FlowContext, bytes: Uint8Array<ArrayBuffer>) => Promise<unknown>]>([
  ['returns', async (_, bytes) => ({ bytes, digest: createHash('sha256').update(bytes).digest('hex') })],
  ['stores', async (context, bytes) => ({ id: await upload(context, bytes) })],
])('a client that asks again for sound without its head, and %s it, is not accused', async (_, use) => {
  const { invariants } = await findingsOf(async context => {
    for (let attempt = 0; ; attempt++) {
      const bytes = await bytesOf(context).catch(() => new Uint8Array())
      if (Buffer.from(bytes.slice(0, 4)).toString('latin1') === 'RIFF') return use(context, bytes)
      if (attempt === 5) throw new Error('no sound')
      await context.sleep(30_000)
    }
  })
  expect(invariants).toEqual([])
})

test('a client that says that its sound is broken is not accused', async () => {
  const { invariants } = await findingsOf(async context => {
    const sound = await bytesOf(context)
    const isWhole = Buffer.from(sound.slice(0, 4)).toString('latin1') === 'RIFF'
    return { sound, isWhole, error: isWhole ? null : 'the sound is broken' }
  })
  expect(invariants).toEqual([])
})
