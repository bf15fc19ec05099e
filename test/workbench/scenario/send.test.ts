/** Requests that a script sends as they are, and answers that it takes later. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Play, runScenario, scenario } from '../../../src/workbench/scenario/index.ts'
import { loadScenarios } from '../../../src/workbench/scenario/runner/files.ts'
import type { ScenarioOptions } from '../../../src/workbench/scenario/scenario.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const WORLD: ScenarioOptions = {
  fixtures: 'two-nodes',
  seed: 7,
  inferencePace: 'clock',
  with: { deployments: [{ model_name: 'acme/chat' }] },
}
const CHAT = { model: 'acme/chat', messages: [{ role: 'user', content: 'Hello' }] }

async function failureOf(play: Play): Promise<string | undefined> {
  const { failure } = await runScenario(scenario('a story', WORLD, play), { stuckTimeoutMs: 500 })
  return failure?.message
}

async function passes(play: Play): Promise<void> {
  expect(await failureOf(play)).toBeUndefined()
}

describe('send', () => {
  test('does not move time, and the answer comes while the script moves it', () =>
    passes(async ({ send, clock, check }) => {
      const chat = send('POST /v1/chat/completions', { body: CHAT })
      await chat.sent
      check(clock.elapsed, 0)
      await clock.advance('1m')
      const answer = await chat.answer()
      check(clock.elapsed, 60_000_000)
      check(answer, { status: 200, isBroken: false })
    }))

  test('moves time to the answer when the script asks for it', () =>
    passes(async ({ send, clock, check }) => {
      const chat = send('POST /v1/chat/completions', { body: { ...CHAT, stream: true } })
      const { text } = await chat.answer()
      check(text.endsWith('data: [DONE]\n\n'), true)
      check(clock.elapsed > 100_000, true)
    }))

  test('lets commands break what is on its way', () =>
    passes(async ({ send, api, cluster, clock, check, countOf }) => {
      const [it] = await api.listDeployments()
      const chat = send('POST /v1/chat/completions', { body: CHAT })
      await chat.sent
      await clock.advance('200ms')
      await cluster.nodeOf(it!.deploy_id).crash()
      check(await chat.answer(), { status: 503 })
      await countOf('inference.broken', 1)
    }))

  test('ends a request whose client leaves, and one whose answer is not taken', () =>
    passes(async ({ send, clock, check, countOf }) => {
      const chat = send('POST /v1/chat/completions', { body: CHAT })
      await chat.sent
      await clock.advance('200ms')
      chat.leave()
      check(await chat.answer(), { status: 0, isBroken: true })
      await countOf('inference.left', 1)
      await send('POST /v1/chat/completions', { body: CHAT }).sent
    }))

  test('sends headers, bodies and tokens as they are given', () =>
    passes(async ({ send, check }) => {
      check(await send('GET /deploy/list').answer(), { status: 200 })
      check(await send('GET /deploy/list', { headers: { authorization: null } }).answer(), { status: 401 })
      check(await send('GET /deploy/list', { token: 'another' }).answer(), { status: 401 })
      check(await send('POST /v1/chat/completions', { body: '{ "model": ' }).answer(), { status: 422 })
      check(await send('POST /v1/chat/completions', { body: new TextEncoder().encode('{') }).answer(), { status: 422 })
      check(await send('PATCH /no/such/path').answer(), { status: 404 })
    }))

  test('gives the status of an answer that breaks off, and 0 for none', () =>
    passes(async ({ send, faults, check }) => {
      await faults.add({ on: 'listDeployments', nth: 1, fault: { kind: 'truncated', bytes: 5 } })
      await faults.add({ on: 'listDeployments', nth: 2, fault: { kind: 'reset' } })
      check(await send('GET /deploy/list').answer(), { status: 200, isBroken: true })
      check(await send('GET /deploy/list').answer(), { status: 0, isBroken: true })
    }))

  test('refuses a text that is not a method with a path', async () => {
    expect(await failureOf(({ send }) => void send('/deploy/list'))).toBe(
      "TypeError: Failed to send '/deploy/list': it is not a method with a path. Give both, as in 'GET /deploy/list'.",
    )
  })
})

test('inference adds and removes scripted answers', () =>
  passes(async ({ inference, send, check }) => {
    const rule = await inference.add({ name: 'weather', contains: 'hello', answer: { text: 'Sunny.' } })
    check(rule, { name: 'weather', hits: 0 })
    const answered = () => send('POST /v1/chat/completions', { body: CHAT }).answer()
    check((await answered()).text.includes('Sunny.'), true)
    await inference.remove('weather')
    check((await answered()).text.includes('Sunny.'), false)
    await inference.add({ answer: { text: 'Rain.' } })
    await inference.clear()
    check((await answered()).text.includes('Rain.'), false)
  }))

async function loadYaml(steps: string) {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'a.yaml'), `title: a story\ngiven: { seed: 1 }\nsteps:\n${steps}`)
  const [loaded] = await loadScenarios(join(folder, 'a.yaml'), folder)
  return loaded!
}

test('the steps of a file send requests, remove fault rules and script answers', async () => {
  const played = await runScenario(
    await loadYaml(`
  - fault: { name: broken, on: '*', fault: { kind: status, status: 500 } }
  - request: GET /deploy/list
    status: 500
  - removeFault: broken
  - addAnswer: { name: weather, answer: { text: Sunny. } }
  - request: POST /v1/chat/completions
    body: { model: acme/assistant, messages: [{ role: user, content: Hello }] }
    later: chat
  - answered: chat
    status: 200
  - removeAnswer: weather
  - addAnswer: { answer: { text: Sunny. } }
  - clearAnswers: true
  - request: POST /v1/chat/completions
    base64: eyA=
    headers: { content-type: application/json }
    later: broken
  - leave: broken
`),
  )
  expect(played.failure).toBeUndefined()
  expect(played.checks).toBe(2)
})

test.each([
  ['- answered: chat\n    status: 200', "4:5: no earlier step sends 'chat'. Send it first, with 'later'."],
  [
    '- request: GET /x\n    later: a\n  - leave: other',
    "6:5: no earlier step sends 'other'. Send it first, with 'later'.",
  ],
  [
    '- request: GET /x\n    later: a\n  - request: GET /x\n    later: a',
    "7:5: 'a' is sent already. Give another name.",
  ],
  [
    '- request: GET /x\n    later: a\n    status: 200',
    "6:5: the answer comes later. Give the status to the step 'answered'.",
  ],
  [
    '- request: GET /x\n    body: a\n    base64: YQ==',
    "6:5: a request has both 'body' and 'base64'. Give one of them.",
  ],
  ['- request: /x', "4:5: invalid value '/x' of 'request'. Give a method with a path"],
  ['- request: GET /x\n    statuss: 200', "5:5: unknown key 'statuss'. Did you mean 'status'?"],
])('a mistake in %j is named with its place', async (steps, message) => {
  await expect(loadYaml(`  ${steps}\n`)).rejects.toThrow(message)
})
