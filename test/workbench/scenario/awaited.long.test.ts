/** What a script awaits moves time: past all that it has planned and watches. */
import { expect, test } from 'vitest'
import { type Play, type Result, runScenario, scenario } from '../../../src/workbench/scenario/index.ts'
import type { ScenarioOptions } from '../../../src/workbench/scenario/scenario.ts'

const model = 'acme/chat'
const ask = { model, messages: [{ role: 'user' as const, content: 'Tell me about rivers.' }] }
const AWAKE: ScenarioOptions = { with: { deployments: [{ model_name: model, max_batch_size: 4 }] } }
const SLEEPS: ScenarioOptions = {
  profile: 'quick',
  with: { deployments: [{ model_name: model, settings: { min_instances: 0, max_instances: 1 } }] },
}

function play(play: Play, options: ScenarioOptions): Promise<Result> {
  return runScenario(scenario('a story', { fixtures: 'two-nodes', seed: 7, ...options }, play))
}

/** Resolves when every client waits. */
const asleep: Play = async ({ api, clock }) => {
  await clock.until(async () => (await api.listDeployments())[0]?.instances?.running === 0, { within: '1h' })
}

test('a planned step runs at its time during a wait, in the order of times', async () => {
  const { failure, trace } = await play(async props => {
    const { api, at, clock, check, every } = props
    await asleep(props)
    const began = clock.elapsed
    const done: string[] = []
    const note = (name: string) => () => {
      done.push(`${name} at ${(clock.elapsed - began) / 1e6}`)
    }
    at('2s', note('second'))
    at('1s', note('first'))
    every('3s', note('again'), { times: 2 })
    check(await api.createChatCompletion(ask), { model })
    check(done.slice(0, 3), ['first at 1', 'second at 2', 'again at 3'])
    check(clock.elapsed - began < 60_000_000, true)
    await clock.advance('10s')
  }, SLEEPS)
  expect(failure).toBeUndefined()
  expect(trace.filter(line => line.includes('inference.served'))).toHaveLength(1)
})

test('a planned step may end a wait, and time then stops', async () => {
  const { failure } = await play(async props => {
    const { api, at, clock, cluster, check, expectRefusal } = props
    await asleep(props)
    await cluster.stockOut('H100-80GB')
    const [deployed] = await api.listDeployments()
    const began = clock.elapsed
    at('7s', () => api.stopDeployment({ deploy_id: deployed!.deploy_id }))
    await expectRefusal(api.createChatCompletion(ask), 503, /is stopped/)
    check(clock.elapsed - began, 7_000_000)
  }, SLEEPS)
  expect(failure).toBeUndefined()
})

test('time moves to the answer that a condition awaits', async () => {
  const { failure } = await play(async props => {
    const { api, clock, check } = props
    await asleep(props)
    const began = clock.elapsed
    await clock.until(async () => (await api.createChatCompletion(ask)).choices.length === 1)
    check(clock.elapsed > began, true)
  }, SLEEPS)
  expect(failure).toBeUndefined()
})

test('temporal assertions are evaluated during the wait for an answer', async () => {
  const { failure } = await play(async props => {
    const { api, never } = props
    await asleep(props)
    never(async () => (await api.listDeployments())[0]?.instances?.running === 1, 'nothing starts')
    await api.createChatCompletion(ask).catch(() => {})
  }, SLEEPS)
  expect(failure?.message).toContain('never: nothing starts')
})

test('a planned step that fails while an answer is awaited fails the scenario, also when the client ignores the error', async () => {
  const { failure } = await play(async props => {
    const { api, at, check } = props
    await asleep(props)
    at('1s', () => check(1, 2, 'one is two'))
    await api.createChatCompletion(ask).catch(() => {})
  }, SLEEPS)
  expect(failure?.message).toContain('one is two')
})

test('planned steps also run during the wait for an answer that a fault delays', async () => {
  const { failure } = await play(
    async ({ api, at, clock, check }) => {
      let done = -1
      at('2s', () => {
        done = clock.elapsed
      })
      await api.listDeployments()
      check([done, clock.elapsed], [2_000_000, 5_000_000])
    },
    { ...AWAKE, faults: [{ on: 'listDeployments', fault: { kind: 'latency', delay: '5s' } }] },
  )
  expect(failure).toBeUndefined()
})

test('an answer under inferencePace clock takes simulated time, whole and streamed, and its reader moves time', async () => {
  const { failure } = await play(
    async ({ api, fetch, baseUrl, token, clock, check }) => {
      const headers = { authorization: `Bearer ${token}` }
      const sent = (body: object) =>
        fetch(`${baseUrl}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
      const began = clock.elapsed
      const whole = await api.createChatCompletion({ ...ask, max_tokens: 20 })
      const took = clock.elapsed - began
      check(whole.usage.completion_tokens, 20)
      check(took > 100_000 && took < 400_000, true, `${took}`)
      const answer = await sent({ ...ask, max_tokens: 20, stream: true })
      const head = clock.elapsed
      const times: number[] = []
      const reader = answer.body!.getReader()
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) times.push(clock.elapsed - head)
      check(times.length > 10, true, `${times}`)
      check(
        [...times].sort((a, b) => a - b),
        times,
      )
      check(Math.abs(times.at(-1)! - took) < 100_000, true, `${times.at(-1)} ${took}`)
      // Who leaves gives the place back, and moves no time by that.
      const left = (await sent({ ...ask, stream: true })).body!.getReader()
      await left.read()
      const before = clock.elapsed
      await left.cancel()
      check(clock.elapsed, before)
      check(await (await sent({ ...ask, max_tokens: 5, stream: true })).text(), /data: \[DONE\]/)
    },
    { ...AWAKE, inferencePace: 'clock' },
  )
  expect(failure).toBeUndefined()
})

test('a stream breaks off where a planned step takes its node, and time does not move in a step', async () => {
  const { failure, trace } = await play(
    async ({ api, at, cluster, clock, check }) => {
      const [deployed] = await api.listDeployments()
      at('300ms', () => cluster.nodeOf(deployed!.deploy_id).crash())
      const lost = await api.createChatCompletion({ ...ask, stream: true }).catch((error: unknown) => error)
      check(lost, { broken: true, message: /^the answer to POST \/v1\/chat\/completions broke off$/ })
      check(clock.elapsed, 300_000)
      at('5m', async () => {
        const duringStep = await api.createChatCompletion({ ...ask, stream: true }).catch((error: unknown) => error)
        check(duringStep, { broken: true, message: /time does not move in 'at 5m'/ })
      })
      await clock.advance('6m')
    },
    { ...AWAKE, inferencePace: 'clock', profile: 'quick' },
  )
  expect(failure).toBeUndefined()
  expect(trace.filter(line => line.includes('inference.broken'))).toHaveLength(1)
})

test('a client that aborts a stream ends its read at once', async () => {
  const { failure, trace } = await play(
    async ({ at, fetch, baseUrl, token, clock, check }) => {
      const controller = new AbortController()
      at('200ms', () => controller.abort(new Error('enough')))
      const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ ...ask, stream: true }),
        signal: controller.signal,
      })
      check(await answer.text().catch((error: Error) => error.message), 'enough')
      await clock.advance('1s')
    },
    { ...AWAKE, inferencePace: 'clock' },
  )
  expect(failure).toBeUndefined()
  expect(trace.filter(line => line.includes('inference.left'))).toHaveLength(1)
})
