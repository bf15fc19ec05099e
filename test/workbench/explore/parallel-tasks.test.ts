/** Clients with several tasks, and clients that start again: a careful one beside one with a defect. */
import { expect, test } from 'vitest'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import type { Plan } from '../../../src/workbench/explore/plan/plan.ts'
import { type Answer, ask, brokenBy, type Run } from './small-clients.ts'

type File = { readonly id: string; readonly filename: string }
const listOf = (context: FlowContext) => ask<{ data: readonly File[] }>(context, 'GET', '/v1/files')

function uploadOf(context: FlowContext, name: string): Promise<Answer<File>> {
  const form = new FormData()
  form.append('purpose', 'batch')
  form.append('file', new Blob([JSON.stringify({ custom_id: name })]), name)
  return ask(context, 'POST', '/v1/files', form)
}

/** Returns a client that uploads two files at once, each after a look for it in every try, or in every try but the first. */
function uploadTwo(firstLook: 0 | 1, wait: (asked: number) => number): Run {
  const bring = async (context: FlowContext, name: string) => {
    for (let i = 0; i < 8; i++) {
      const list = i < firstLook ? undefined : await listOf(context)
      const there = list?.value?.data.find(({ filename }) => filename === name)
      if (there !== undefined) return there.id
      const upload = list !== undefined && list.value === undefined ? list : await uploadOf(context, name)
      if (upload.value !== undefined && 'id' in upload.value) return upload.value.id
      await context.sleep(wait(upload.wait))
    }
    throw new Error(`${name} is not there`)
  }
  return context => Promise.all(['a.jsonl', 'b.jsonl'].map(name => bring(context, name)))
}

const careful = (asked: number) => Math.max(asked, 1500)
const hasty = () => 1500

const fault = (on: string, nth: number, fault: object) => ({ fault: { on, nth, fault } }) as Plan[number]
const status503 = { kind: 'status', status: 503 } as const
const limited = { kind: 'rateLimit', retryAfter: '20s' } as const

test('a task may look for its thing while the look of another task waits', async () => {
  const plan = [fault('*', 1, status503), fault('*', 2, limited), fault('*', 3, limited)]
  expect(await brokenBy(uploadTwo(1, careful), plan)).toEqual([])
  expect(await brokenBy(uploadTwo(1, hasty), plan)).toEqual(['honoursRetryAfter'])
})

test('a task whose upload failed may look again while the look of another task waits', async () => {
  const plan = [fault('listFiles', 1, limited), fault('uploadFile', 1, status503)]
  expect(await brokenBy(uploadTwo(0, careful), plan)).toEqual([])
  expect(await brokenBy(uploadTwo(0, hasty), plan)).toEqual(['honoursRetryAfter'])
})

test('a client has several tasks if its requests overlap without faults', async () => {
  const plan = [fault('listFiles', 1, { kind: 'reset' }), fault('uploadFile', 1, limited)]
  expect(await brokenBy(uploadTwo(0, careful), plan)).toEqual([])
  expect(await brokenBy(uploadTwo(0, hasty), plan)).toEqual(['honoursRetryAfter'])
})

test('two tasks may look once more, each when its own look has waited', async () => {
  const lookTwice =
    (wait: (asked: number) => number): Run =>
    async context => {
      const look = async () => {
        for (let i = 0; i < 8; i++) {
          const { value, wait: asked } = await listOf(context)
          if (value !== undefined) return value.data.length
          await context.sleep(wait(asked))
        }
        throw new Error('no list')
      }
      const task = async () => {
        await look()
        await context.sleep(5_000)
        return look()
      }
      return Promise.all([task(), task()])
    }
  const plan = [fault('listFiles', 3, { kind: 'reset' }), fault('listFiles', 4, limited)]
  expect(await brokenBy(lookTwice(careful), plan)).toEqual([])
  expect(await brokenBy(lookTwice(hasty), plan)).toEqual(['honoursRetryAfter'])
})

test('a task that reads later, as without faults, does not repeat the look of another task', async () => {
  const look = async (context: FlowContext, tries: number, wait: (asked: number) => number) => {
    for (let i = 0; i < tries; i++) {
      const { value, wait: asked } = await listOf(context)
      if (value !== undefined) return value.data.length
      await context.sleep(wait(asked))
    }
    return 'no list'
  }
  const staggered: Run = context =>
    Promise.all([look(context, 5, careful), context.sleep(5_000).then(() => look(context, 5, careful))])
  const oneTask =
    (tries: number): Run =>
    async context => {
      const startedAt = context.now()
      const first = await look(context, tries, hasty)
      await context.sleep(5_000 - (context.now() - startedAt))
      return [first, await look(context, tries, hasty)]
    }
  const plan = [fault('listFiles', 1, limited)]
  expect(await brokenBy(staggered, plan)).toEqual([])
  expect(await brokenBy(staggered, [...plan, { crash: 2 }])).toEqual([])
  expect(await brokenBy(oneTask(1), plan)).toContain('honoursRetryAfter')
  expect(await brokenBy(oneTask(5), plan)).toEqual(['honoursRetryAfter'])
})

test('a client with one task that gave up a request has to wait before it looks again', async () => {
  const bring =
    (wait: (asked: number) => number): Run =>
    async context => {
      let { value } = await uploadOf(context, 'a.jsonl')
      for (let i = 0; i < 5 && value === undefined; i++) {
        const list = await listOf(context)
        value = list.value?.data.find(({ filename }) => filename === 'a.jsonl')
        if (value === undefined) await context.sleep(wait(list.wait))
      }
      return value?.filename ?? 'it is not there'
    }
  const hang = { kind: 'hang', effect: 'done' }
  const plan = [fault('uploadFile', 1, hang), fault('listFiles', 1, limited)]
  expect(await brokenBy(bring(careful), plan)).toEqual([])
  expect(await brokenBy(bring(hasty), plan)).toEqual(['honoursRetryAfter'])
})

/** The journal of a client on its disk: it outlives a crash, and is empty in a new world. */
function journalOn({ sim }: FlowContext, disk: Set<string>): Set<string> {
  if (sim.requests.length === 0) disk.clear()
  return disk
}

test('a restarted client does what its journal says is done, or says that it is missing', async () => {
  const names = ['north', 'south', 'west']
  const upload = (
    isNotedFirst: boolean,
    toResult: (done: readonly string[], missing: readonly string[]) => unknown,
  ): Run => {
    const disk = new Set<string>()
    return async context => {
      const done = journalOn(context, disk)
      // Each start has names of its own.
      const suffix = context.sim.requests.length
      const isOf = (name: string) => (file: File) => file.filename.startsWith(name)
      const bring = async (name: string) => {
        if (isNotedFirst) done.add(name)
        for (let i = 0; i < 5; i++) {
          const { value } = await listOf(context)
          if (value?.data.some(isOf(name))) return done.add(name)
          if ((await uploadOf(context, `${name}-${suffix}`)).value !== undefined) return done.add(name)
          await context.sleep(5_000)
        }
        throw new Error(`${name} is not there`)
      }
      await Promise.all(names.filter(name => !done.has(name)).map(bring))
      const { value } = await listOf(context)
      return toResult(
        [...done].sort(),
        names.filter(name => !value?.data.some(isOf(name))),
      )
    }
  }
  const plan: Plan = [fault('uploadFile', 1, status503), { crash: 6 }]
  const broken = (client: Run) => brokenBy(client, plan)
  expect(await broken(upload(false, uploaded => ({ uploaded })))).toEqual([])
  expect(await broken(upload(true, uploaded => ({ uploaded })))).toEqual(['idempotentRestart'])
  expect(await broken(upload(true, (uploaded, missing) => ({ uploaded, missing })))).toEqual([])
})

test('a client handles the rejection of a request that it gave up, because another one won', async () => {
  const hedge =
    (handle: (lost: unknown) => void): Run =>
    async ({ fetch, url, token, sleep }) => {
      const stops = [new AbortController(), new AbortController()]
      const read = async (signal: AbortSignal) => {
        const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` }, signal })
        return ((await answer.json()) as { data: unknown[] }).data.length
      }
      const first = read(stops[0]!.signal)
      const quick = await Promise.race([first, sleep(8_000)])
      if (quick !== undefined) return quick
      const second = read(stops[1]!.signal)
      return new Promise(resolve => {
        for (const [i, one] of [first, second].entries()) {
          one
            .then(models => {
              stops[1 - i]!.abort()
              resolve(models)
            })
            .catch(handle)
        }
      })
    }
  const plan = [fault('listServedModels', 1, { kind: 'hang' })]
  const broken = (client: Run) => brokenBy(client, plan)
  expect(await broken(hedge(() => {}))).toEqual([])
  const leaveUnhandled = (error: unknown) => {
    throw error
  }
  expect(await broken(hedge(leaveUnhandled))).toEqual(['recovers'])
})

test('half of an answer that is joined with another answer is a loss', async () => {
  type Message = { role: string; content: string }
  const tell =
    (toResult: (half: string, text: string) => unknown): Run =>
    async ({ fetch, url, token, sleep }) => {
      const question = { role: 'user', content: 'Tell the story of the ferry.' }
      const read = async (messages: readonly Message[]) => {
        const body = JSON.stringify({ model: 'harbor-ai/harbor-24b-instruct', stream: true, max_tokens: 60, messages })
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        let [text, events] = ['', '']
        try {
          const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
          for await (const piece of answer.body!) events += new TextDecoder().decode(piece)
        } catch {}
        for (const [, piece] of events.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)) text += JSON.parse(piece!)
        return { text, isWhole: events.includes('[DONE]') }
      }
      let half = ''
      for (let i = 0; i < 5; i++) {
        const { text, isWhole } = await read(
          half === ''
            ? [question]
            : [question, { role: 'assistant', content: half }, { role: 'user', content: 'Go on.' }],
        )
        if (isWhole) return toResult(half, text)
        half += text
        await sleep(2_000)
      }
      throw new Error('no story')
    }
  const plan = [fault('createChatCompletion', 1, { kind: 'stream', end: 'close', after: 12 })]
  const broken = (client: Run) => brokenBy(client, plan)
  expect(await broken(tell((half, text) => ({ story: half + text })))).toEqual(['noSilentLoss'])
  expect(await broken(tell((_, text) => ({ story: text })))).toEqual([])
  const isContinued = (half: string) => half !== ''
  const toldBy = tell((half, text) => ({ story: half + text, continued: isContinued(half) }))
  expect(await broken(toldBy)).toEqual([])
})
