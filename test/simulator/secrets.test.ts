/**
 * No output shows a credential, wherever a client put it. A new place is a line of `PLACES`, and a new output is a line of
 * `OUTPUTS`. A recording has prompts and uploaded files as they are, because answers depend on them.
 */
import { beforeAll, expect, test } from 'vitest'
import { requestLine } from '../../src/cli/commands/serve.ts'
import { formatFlow, formatFlowJson, formatFlowsJunit } from '../../src/cli/explore/report.ts'
import { createToolServer } from '../../src/cli/mcp/tool-server.ts'
import { replay } from '../../src/index.ts'
import { differences } from '../../src/lib/differences.ts'
import { controlOperations } from '../../src/server/control/index.ts'
import { serve } from '../../src/server/http/server.ts'
import { explain } from '../../src/simulator/explain/explain.ts'
import { formatExplanation } from '../../src/simulator/explain/explanation.ts'
import { toScenario } from '../../src/simulator/history/export/scenario.ts'
import { type ParsedRecording, parseRecording } from '../../src/simulator/history/file.ts'
import { recordSimulator } from '../../src/simulator/history/record.ts'
import { judge } from '../../src/simulator/judge/judge.ts'
import { defineRule } from '../../src/simulator/judge/rule.ts'
import { formatJudgement } from '../../src/simulator/judge/text.ts'
import { verifyRequests } from '../../src/simulator/requests/verify.ts'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts'
import { explore } from '../../src/workbench/explore/explore-flow.ts'
import { CheckError } from '../../src/workbench/scenario/check.ts'
import { createTrace } from '../../src/workbench/scenario/runner/trace.ts'
import { formatFailureReport } from '../../src/workbench/testing/failure-report.ts'
import { matchers } from '../../src/workbench/testing/matchers.ts'

type Sent = readonly [path: string, init?: RequestInit]

const LLM = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
const CONTAINER = { name: 'trial', gpu_config: '1xL4-24GB', container_image: 'registry.example/cuda-dev:12.8' }
const MODEL = 'aurora-labs/aurora-8b-instruct'

function json(path: string, body: unknown): Sent {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return [path, { method: 'POST', body: text, headers: { 'content-type': 'application/json' } }]
}

function header(name: string, value: string): Sent {
  return ['/v1/me', { headers: { [name]: value } }]
}

function form(fields: Readonly<Record<string, string | Blob>>): Sent {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  return ['/v1/files', { method: 'POST', body }]
}

/** Where a client can put a credential. */
const PLACES: Readonly<Record<string, (secret: string) => Sent>> = {
  'the header authorization': secret => header('authorization', `Bearer ${secret}`),
  'basic authorization': secret => header('authorization', `Basic ${secret}`),
  'the header proxy-authorization': secret => header('proxy-authorization', `Bearer ${secret}`),
  'the header cookie': secret => header('cookie', `session=${secret}`),
  'the header x-api-key': secret => header('x-api-key', secret),
  'the header alt-api-key': secret => header('alt-api-key', secret),
  'the header x-auth-token': secret => header('x-auth-token', secret),
  'an address in a header': secret => header('referer', `https://user:${secret}@host.example/page`),
  'a declared field': secret => json('/deploy/llm', { ...LLM, hub: { ...LLM.hub, token: secret } }),
  'the field apiKey': secret => json('/deploy/llm', { ...LLM, apiKey: secret }),
  'the field API-KEY': secret => json('/deploy/llm', { ...LLM, 'API-KEY': secret }),
  'the field hub.token': secret => json('/deploy/llm', { ...LLM, 'hub.token': secret }),
  'the field Authorization': secret => json('/deploy/llm', { ...LLM, Authorization: `Bearer ${secret}` }),
  'a nested field': secret => json('/deploy/llm', { ...LLM, a: [{ b: { client_secret: secret } }] }),
  'a list of credentials': secret => json('/deploy/llm', { ...LLM, api_keys: ['x', secret] }),
  'a password in JSON in a text': secret => json('/deploy/llm', { ...LLM, note: JSON.stringify({ password: secret }) }),
  'a bearer token in a text': secret =>
    json('/deploy/llm', { ...LLM, note: `curl -H "Authorization: Bearer ${secret}"` }),
  'environment variables': secret => json('/v1/containers', { ...CONTAINER, env: { MY_VALUE: secret, PORT: '80' } }),
  'environment variables as pairs': secret =>
    json('/v1/containers', { ...CONTAINER, env: [{ name: 'HF_TOKEN', value: secret }] }),
  'environment variables as texts': secret => json('/v1/containers', { ...CONTAINER, env: [`HF_TOKEN=${secret}`] }),
  'user data': secret => json('/v1/containers', { ...CONTAINER, cloud_init_user_data: `export A=${secret}` }),
  'user data of a hosted instance': secret => json('/v1/hosted', { user_data: `export A=${secret}` }),
  'an engine argument': secret => json('/deploy/llm', { ...LLM, extra_args: [`--hf-token=${secret}`] }),
  'an engine argument of two elements': secret =>
    json('/deploy/llm', { ...LLM, extra_args: ['--api-key', secret, '--enforce-eager'] }),
  'an unknown engine argument': secret => json('/deploy/llm', { ...LLM, extra_args: ['--hub-token', secret] }),
  'a command line in a text': secret => json('/deploy/llm', { ...LLM, note: `vllm serve --api-key ${secret}` }),
  metadata: secret =>
    json('/v1/chat/completions', {
      model: MODEL,
      messages: [{ role: 'user', content: 'Hi' }],
      metadata: { api_key: secret },
    }),
  'a field of an unknown path': secret => json('/no/such/path', { token: secret }),
  'invalid JSON': secret => json('/deploy/llm', `{"hub": {"token": "${secret}"} "gpu": 1}`),
  'JSON that is cut off': secret => json('/deploy/llm', `{"hub": {"token": "${secret}`),
  'a form': secret => ['/payment/funds', { method: 'POST', body: new URLSearchParams({ amount: '1', token: secret }) }],
  'a field of a multipart form': secret => form({ api_key: secret, purpose: 'batch', file: new Blob(['{}']) }),
  'a field beside bytes': secret => form({ api_key: secret, file: new Blob([new Uint8Array([255, 254, 0])]) }),
  'a query parameter': secret => [`/deploy/list?status=running&access_token=${secret}`],
  'an escaped query parameter': secret => [`/v1/scoped-jwt?jwtoken=jwt%3Aabc.def.${secret}`],
  'an address in a query': secret => [`/deploy/list?from=${encodeURIComponent(`https://user:${secret}@host.example`)}`],
  'a segment of a path': secret => [`/v1/voices/sim_${secret.replaceAll('-', '_')}_token`],
  'a header of a webhook': secret =>
    json(`/v1/inference/${MODEL}`, { input: 'Rivers', webhook_headers: { Authorization: `Bearer ${secret}` } }),
  'the address of a webhook': secret =>
    json(`/v1/inference/${MODEL}`, { input: 'Rivers', webhook: `https://user:${secret}@hooks.example/done` }),
  'the query of a webhook': secret =>
    json(`/v1/inference/${MODEL}`, { input: 'Rivers', webhook: `http://127.0.0.1:9/done?token=${secret}` }),
}

/** A world that clients used, with everything that was put in it. */
interface Used {
  readonly sim: Simulator
  readonly url: string
  readonly log: string
  readonly recording: string
  readonly parsed: ParsedRecording
  readonly seqs: readonly number[]
}

/** What the simulator writes and answers. */
const OUTPUTS: Readonly<Record<string, (used: Used) => string | Promise<string>>> = {
  'a recording': ({ recording }) => recording,
  'a recording over HTTP': ({ url }) => get(url, 'past/recording'),
  'a scenario in YAML': ({ parsed }) => toScenario(parsed, { format: 'yaml' }),
  'a scenario in TypeScript': ({ parsed }) => toScenario(parsed, { format: 'typescript' }),
  'a test for vitest': ({ parsed }) => toScenario(parsed, { format: 'vitest' }),
  'a trace': ({ sim }) => createTrace('run', '1', sim.journal.entries()).join('\n'),
  'failed checks of a scenario': ({ sim }) =>
    sim.requests.map(one => new CheckError('it', differences(one, CHECKED), one).message).join('\n'),
  'a saved page': ({ url }) => get(url, 'page'),
  'the log of a server': ({ log }) => log,
  'the list of requests': ({ url }) => get(url, 'requests?limit=1000&bodies=whole'),
  'the requests of the past': async ({ url, seqs }) =>
    (await Promise.all(seqs.map(seq => get(url, `requests/${seq}`)))).join('\n'),
  'live events': ({ url }) => get(url, 'events?after=start&follow=false'),
  'live events in columns': ({ url }) => get(url, 'events?after=start&follow=false&form=columns'),
  'near misses': ({ sim }) => JSON.stringify(verifyRequests(sim, EXPECTED)),
  'near misses over HTTP': ({ url }) => send(url, 'verify', { expect: EXPECTED }),
  explanations: ({ sim, seqs }) => seqs.map(seq => formatExplanation(explain(sim, seq))).join('\n'),
  'explanations over HTTP': async ({ url, seqs }) =>
    (await Promise.all(seqs.map(seq => get(url, `explain/${seq}`)))).join('\n'),
  'a judgement': ({ sim }) => formatJudgement(judge(sim, { rules: { repeats: REPEATS } })),
  'a judgement over HTTP': ({ url }) => get(url, 'judge'),
  'views of the control room': async ({ url, seqs }) =>
    (await Promise.all([...VIEWS, ...seqs.map(seq => `things/${seq}`)].map(path => get(url, path)))).join('\n'),
  'the tools of an assistant': ({ url }) => callTools(url),
  'errors of the control plane': ({ url, sim }) => get(url, `things/${sim.token}`),
  'a failed matcher': ({ sim }) =>
    matchers.toHaveReceived(sim, 'createLlmDeployment', { body: { gpu: 'none' } }).message() +
    matchers.toHaveReceived(sim, 'createBatch').message(),
  'the report of a failed test': ({ sim }) => formatFailureReport(sim, { test: 't', file: 'f' }),
  'the report of an exploration': () => explored('text'),
  'an exploration as JSON': () => explored('json'),
  'an exploration as JUnit': () => explored('junit'),
}

const EXPECTED = ['createLlmDeployment', 'getMe', 'createInference'].map(operation => ({
  ...{ operation, status: 418, path: '/x?y', body: { hub: { token: 'another' }, note: 1, webhook: 1, metadata: {} } },
}))
/** Values that no request has, some of them in place of credentials. */
const CHECKED = { body: { apiKey: 1, hub: 1, env: { MY_VALUE: 1 }, api_keys: [1, 1], webhook: 1, metadata: 1 } }
/** The operations whose answers are the same for each world, or whose stream does not end. */
const VIEWS = Object.values(controlOperations)
  .filter(
    ({ method, path }) => method === 'GET' && path.startsWith('/_sim/') && !/\{|events$|page$|recording$/.test(path),
  )
  .map(({ path }) => path.slice('/_sim/'.length))
/** A rule of a user, whose words have everything that a client sent. */
const REPEATS = defineRule({
  ...{ summary: 'Nothing is sent.', advice: 'Send nothing.', source: 'this test' },
  check: ({ requests }) =>
    requests.map(request => ({
      words: `${request.path} ${JSON.stringify(request.body)}`,
      ...{ operation: request.operation, evidence: [{ kind: 'request', request }] },
    })),
})

async function get(url: string, path: string): Promise<string> {
  return (await fetch(`${url}/_sim/${path}`)).text()
}

async function send(url: string, path: string, body: unknown): Promise<string> {
  const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  return (await fetch(`${url}/_sim/${path}`, init)).text()
}

async function callTools(url: string): Promise<string> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { InMemoryTransport } = await import('@modelcontextprotocol/sdk/inMemory.js')
  const [client, tools] = [new Client({ name: 'a test', version: '1' }), await createToolServer({ url })]
  const [clientSide, toolSide] = InMemoryTransport.createLinkedPair()
  await Promise.all([client.connect(clientSide), tools.connect(toolSide)])
  const calls = [
    { name: 'list_requests', arguments: { limit: 1000, bodies: 'whole' } },
    { name: 'send_request', arguments: { path: '/v1/api-tokens' } },
  ]
  const answers = await Promise.all(calls.map(call => client.callTool(call)))
  await Promise.all([client.close(), tools.close()])
  return JSON.stringify(answers)
}

let reports: Promise<Record<'text' | 'json' | 'junit', string>> | undefined

/** Explores a client that sends everything and leaves a deployment behind. */
function explored(form: 'text' | 'json' | 'junit'): Promise<string> {
  reports ??= (async () => {
    const client = async ({ fetch, url, token }: { fetch: typeof globalThis.fetch; url: string; token: string }) => {
      for (const [place, toSent] of Object.entries(PLACES)) {
        const [path, init = {}] = toSent(secretOf(place))
        const headers = new Headers(init.headers)
        if (!headers.has('authorization')) headers.set('authorization', `Bearer ${token}`)
        await (await fetch(`${url}${path}`, { ...init, headers })).text()
      }
    }
    const invariants = { repeats: ({ requests }: { requests: readonly unknown[] }) => JSON.stringify(requests) }
    const report = await explore(client, {
      budget: 2,
      faults: 'singles',
      invariants: invariants as never,
      name: 'sends',
    })
    const findings = { fresh: report.findings, known: [], gone: [] }
    const flow = { report, findings, scenarioOf: () => '', fileOf: () => undefined, play: String }
    return { text: formatFlow(flow, ''), json: formatFlowJson(flow), junit: formatFlowsJunit([flow]) }
  })()
  return reports.then(all => all[form])
}

/** The credential that is put in a place, which no other text of the world has. */
function secretOf(place: string): string {
  return `canary-${Object.keys(PLACES).indexOf(place)}-7f3a-${place.replaceAll(/\W/g, '').slice(0, 12)}`
}

/** A world with its own API token in every place where it can be, and a token that a client made. */
async function use(options: SimulatorOptions): Promise<Used> {
  const sim = createSimulator({ seed: 3, ...options })
  let log = ''
  const server = await serve(sim, {
    port: 0,
    keepPast: true,
    writePage: content => JSON.stringify(content),
    onRequest: request => {
      log += requestLine(request, 'text') + requestLine(request, 'json')
    },
  })
  const recording = recordSimulator(sim)
  const ask = async ([path, init = {}]: Sent) => {
    const headers = { authorization: `Bearer ${sim.token}`, ...init.headers }
    return (await fetch(`${server.url}${path}`, { ...init, headers })).text()
  }
  for (const [place, toSent] of Object.entries(PLACES)) await ask(toSent(secretOf(place)))
  const { token } = JSON.parse(await ask(json('/v1/api-tokens', { name: 'made' }))) as { token: string }
  made = token
  await ask(['/v1/api-tokens'])
  await ask([`/payment/usage/${token}?from=current-1`])
  await ask([`/${token}/${sim.token}`])
  await ask(['/v1/me', { headers: { authorization: `Bearer ${token}` } }])
  await ask(json('/deploy/llm', { ...LLM, note: [token, sim.token] }))
  const scoped = JSON.parse(await ask(json('/v1/scoped-jwt', { api_key_name: 'made' }))) as { token: string }
  signature = scoped.token.slice(scoped.token.lastIndexOf('.') + 1)
  await ask([
    `/v1/scoped-jwt?jwtoken=${encodeURIComponent(scoped.token)}`,
    { headers: { authorization: `Bearer ${token}` } },
  ])
  await ask(json('/deploy/llm', { ...LLM, note: scoped.token }))
  sim.faults.add({ on: 'getMe', token, times: 1, fault: { kind: 'status', status: 503 } })
  await sim.clock.advance('1h')
  recording.stop()
  const seqs = sim.requests.map(({ seq }) => seq)
  const { lines, ...others } = parseRecording(recording.text, 'run')
  // A test cannot do what the network did.
  const parsed = { ...others, lines: lines.filter(line => !('action' in line) || line.action.do !== 'settleWebhook') }
  return { sim, url: server.url, log, recording: recording.text, parsed, seqs }
}

let used: Used
let made: string
let signature: string

beforeAll(async () => {
  used = await use({
    with: {
      hub: {
        repositories: [
          { repo: 'acme/gated', bytes: 2e9, parameters_b: 1, context: 8192, gated: true, tokens: [HUB_TOKEN] },
        ],
      },
    },
  } as SimulatorOptions)
  return async () => used.sim[Symbol.asyncDispose]()
})

const HUB_TOKEN = 'canary-hub-7f3a'

test('the recording of all places replays', { tags: 'slow' }, async () => {
  expect(await replay({ text: used.recording })).toEqual({ outcome: 'same', requests: expect.any(Number) })
})

test.each(Object.entries(OUTPUTS))('%s shows no credential', { tags: 'slow' }, async (_name, outputOf) => {
  const output = await outputOf(used)
  expect(output.length).toBeGreaterThan(40)
  const places = Object.keys(PLACES).filter(place => output.includes(secretOf(place)))
  const isShown = (name: string, secret: string) => (output.includes(secret) ? [name] : [])
  const own = [
    ...isShown('the token that was made', made),
    ...isShown('a signature', signature),
    ...isShown('the first token', used.sim.token),
    ...isShown('a token of the hub', HUB_TOKEN),
  ]
  expect([...places, ...own]).toEqual([])
})
