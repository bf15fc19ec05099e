/**
 * A reader of the lists, logs and stats of deployments. It knows the OpenAPI shapes of the live service alone: it sends
 * plain requests, and checks each answer against its shape.
 */

import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { sendTo } from '../setup/send-to.ts'

const document = JSON.parse(readFileSync('test/cli/conform/neighbours-openapi.json', 'utf8'))
const ajv = new Ajv2020({ strict: false })
ajv.addSchema(document, 'document')

interface Stats {
  readonly requests: number
  readonly errors: number
  readonly total_tokens: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly total_amount: number
  readonly total_time: number
  readonly avg_time: number
}

class Reader {
  readonly #sim: Simulator
  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Returns the answer of a GET. Fails if it has a status or a shape that the document does not show. */
  async get(path: string, params: Record<string, string> = {}, query = {}): Promise<{ status: number; body: never }> {
    const { responses } = document.paths[path].get
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name]!)
    const url = `https://service.example${target}?${new URLSearchParams(query)}`
    const answer = await this.#sim.fetch(url, { headers: { authorization: `Bearer ${this.#sim.token}` } })
    const body = await answer.json()
    const { schema } = responses[answer.status].content['application/json']
    const validate = ajv.compile({ ...schema, components: document.components })
    expect([validate(body), validate.errors]).toEqual([true, null])
    return { status: answer.status, body: body as never }
  }
}

test('a reader that knows the shapes of the live service alone shows the figures of the report', {
  tags: 'slow',
}, async () => {
  const load = { kind: 'constant', rps: 3, prompt_tokens: 500, output_tokens: 200 }
  const weights = { repo: 'acme/chat-8b' }
  const deployments = [
    { model_name: 'acme/busy', weights, load, settings: { min_instances: 1, max_instances: 2 } },
    { model_name: 'acme/chat', weights },
    { model_name: 'acme/gone', weights },
  ] as never
  const sim = createSimulator({ fixtures: 'two-nodes', with: { deployments }, check: true })
  await sim.clock.advance('1h')
  for (const content of ['Tell me a story.', 'Tell me another one.', 'The last one.']) {
    await sendTo(sim, 'POST /v1/chat/completions', { model: 'acme/chat', messages: [{ role: 'user', content }] })
    await sim.clock.advance('1m')
  }
  const gone = sim.world.deployments.findLive('acme/gone')!.deploy_id
  await sendTo(sim, `DELETE /deploy/${gone}`)
  await sim.clock.advance('30m')

  const reader = new Reader(sim)
  const listed: { deploy_id: string; model_name: string; status: string }[] = (await reader.get('/deploy/list')).body
  const report = sim.report()
  const reported = new Map(report.deployments.map(one => [one.deploy_id, one]))
  expect(listed.map(({ deploy_id, status }) => [deploy_id, status]).sort()).toEqual(
    report.deployments.map(({ deploy_id, status }) => [deploy_id, status]).sort(),
  )
  const from = String(sim.clock.now.getTime() / 1000 - 7200)
  const shown: Record<string, Stats> = {}
  for (const { deploy_id, model_name, status } of listed) {
    const answer = await reader.get('/deploy/{deploy_id}/stats', { deploy_id }, { from })
    expect(answer.status).toBe(status === 'deleted' ? 410 : 200)
    if (status === 'deleted') continue
    const stats: Stats = answer.body
    const { requests, tokens, rent_microcents } = reported.get(deploy_id)!
    expect(stats).toMatchObject({
      requests: requests.served + requests.refused + requests.failed,
      errors: requests.refused + requests.failed,
      input_tokens: tokens.input,
      output_tokens: tokens.output,
      total_tokens: tokens.input + tokens.output,
      total_amount: Math.floor(rent_microcents / 1_000_000),
    })
    expect(Math.abs(stats.total_time - (stats.avg_time * stats.requests) / 1000)).toBeLessThanOrEqual(1)
    expect((await reader.get('/deploy/{deploy_id}/stats', { deploy_id }, { from: 'now-2h' })).body).toEqual(stats)
    shown[model_name] = stats
  }
  expect(shown['acme/chat']!.requests).toBe(3)
  expect(shown['acme/busy']!.requests).toBe(3 * 93 * 60)

  // The logs count the requests of the busy deployment every five minutes, and every line has its time.
  const { deploy_id } = listed.find(({ model_name }) => model_name === 'acme/busy')!
  const logs: { entries: Record<string, [string, string][]> } = (
    await reader.get('/v1/deployment_logs/query', {}, { deploy_id, from, to: String(sim.clock.now.getTime() / 1000) })
  ).body
  const lines = Object.values(logs.entries).flat()
  const counted = lines.flatMap(([, line]) => /(\d+) requests served/.exec(line)?.slice(1).map(Number) ?? [])
  const lastCount = lines.filter(([, line]) => line.includes('requests served')).map(([time]) => Number(time))
  const upTo = new Date(Math.max(...lastCount) * 1000)
  expect(counted.reduce((sum, count) => sum + count, 0)).toBe(
    sim.report({ to: upTo }).deployments.find(one => one.deploy_id === deploy_id)!.requests.served,
  )
  for (const [pod_name, entries] of Object.entries(logs.entries)) {
    const { entries: ofPod }: typeof logs = (
      await reader.get('/v1/deployment_logs/query', {}, { deploy_id, from, pod_name })
    ).body
    expect(ofPod).toEqual({ [pod_name]: entries })
  }
  const tooLong = await reader.get('/v1/deployment_logs/query', {}, { deploy_id, from: '0', to: from })
  expect(tooLong.status).toBe(400)
})
