/** Findings with one cause are one finding, and those that do more harm come first. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { KnownFindings } from '../../../../src/cli/explore/known.ts'
import { type ExploredFlow, formatFlow, formatFlowJson, formatFlowsJunit } from '../../../../src/cli/explore/report.ts'
import { explore, type FlowReport, replayPlan } from '../../../../src/workbench/explore/explore-flow.ts'
import type { FlowFunction } from '../../../../src/workbench/explore/flow.ts'
import { mergeFindings } from '../../../../src/workbench/explore/report/merged-findings.ts'
import { type SurviveOptions, toSurvive } from '../../../../src/workbench/testing/to-survive.ts'
import { sendTo } from '../../../setup/send-to.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'
import { ask, must } from '../small-clients.ts'

/** Reads two lists. Its one loop for retries does not wait as long as the service asks. */
const hasty: FlowFunction = async context => {
  const read = async (path: string) => {
    for (let tries = 0; tries < 8; tries++) {
      const { value } = await ask(context, 'GET', path)
      if (value !== undefined) return value
      await context.sleep(1_000 * 2 ** tries)
    }
    throw new Error(`No answer of ${path}`)
  }
  return [await read('/deploy/list'), await read('/v1/models')]
}
const TRIED: SurviveOptions = { fixtures: 'empty', faults: 'singles', classes: ['rateLimit'] }

const [FIRST, SECOND] = ['honoursRetryAfter@listDeployments', 'honoursRetryAfter@listServedModels']

let explored: FlowReport
beforeAll(async () => {
  explored = await explore(hasty, { name: 'hasty', fixtures: 'empty', faults: 'singles', classes: ['rateLimit'] })
})

/** Returns a report as the command line prints it, with some signatures in its file of known findings. */
async function sorted(report: FlowReport, known: readonly string[] = []): Promise<ExploredFlow> {
  const folder = temporaryFolder()
  const entries = known.map(signature => ({ flow: 'hasty', signature, reason: 'a nightly job', date: '2026-11-30' }))
  writeFileSync(join(folder, 'known.yaml'), JSON.stringify({ findings: entries }))
  const findings = (await KnownFindings.read('known.yaml', folder)).sort(report)
  return { report, findings, scenarioOf: () => '', fileOf: () => undefined, play: String }
}

describe('a client that breaks a rule at several places by one cause', () => {
  test('has one finding, whose report lists the places', async () => {
    expect(explored.findings).toMatchObject([{ signature: FIRST, also: [{ signature: SECOND, also: [] }] }])
    const one = await sorted(explored)
    const text = formatFlow(one, 'explore.known.yaml')
    expect(text).toContain(`1. ${FIRST}\n`)
    expect(text).toContain(`   Also at        ${SECOND}.\n`)
    expect(text).toContain('\nTo keep each finding as a test, give --write and a folder.\n1 finding\n')
    const play = (file: string) => `npx modelhost-sim run ${file}`
    const kept = formatFlow({ ...one, fileOf: () => 'found/noleak.yaml', play }, 'explore.known.yaml')
    expect(kept).toContain('\n   Repeat         npx modelhost-sim run found/noleak.yaml\n')
    expect(kept).toContain('\nTo play each again: npx modelhost-sim run found\n1 finding\n')
    expect(kept).not.toContain('To keep')
    expect(JSON.parse(formatFlowJson(one)).findings).toMatchObject([
      { signature: FIRST, also: [{ signature: SECOND, plan: [{ fault: { on: 'listServedModels' } }] }] },
    ])
    const junit = formatFlowsJunit([one])
    expect(junit).toContain('tests="1" failures="1"')
    expect(junit).toContain(`Also at: ${SECOND}.`)
  })

  test('has a new finding if one of its places is not known', { tags: 'slow' }, async () => {
    const one = await sorted(explored, [FIRST])
    expect(one.findings.fresh).toMatchObject([{ signature: SECOND, also: [] }])
    expect(formatFlow(one, 'explore.known.yaml')).toContain(`  known since 2026-11-30: ${FIRST} (a nightly job)`)
    const all = await sorted(explored, [FIRST, SECOND])
    expect(all.findings).toMatchObject({ fresh: [], gone: [], known: [{}, {}] })
    const message = async (known: readonly string[]) => (await toSurvive(hasty, { ...TRIED, known })).message()
    await expect(message([])).resolves.toContain(`\n    Also at: ${SECOND}.`)
    await expect(message([FIRST])).resolves.toContain(`\n  ${SECOND}\n    What happened: `)
  })
})

test('a report without a run with a fault says that none was tried, and not that nothing was found', async () => {
  const report = await explore(hasty, { name: 'hasty', fixtures: 'empty', budget: 2 })
  const text = formatFlow(await sorted(report), '')
  expect(text).toMatch(
    /^hasty: 2 runs \(2 without faults\), \d+ single faults, the budget is spent\n {2}No fault was tried\.\n/,
  )
  expect(text).not.toMatch(/0 findings|No finding/)
  const pairs = async (more: object) =>
    formatFlow(await sorted({ ...explored, findings: [], unreachedPairs: 3, ...more }), '')
  expect(await pairs({})).toContain('\n3 pairs of faults not run. A higher --budget runs more\n')
  expect(await pairs({ stoppedBecause: 'aborted' })).toContain('\n3 pairs of faults not run\n')
})

test('a line that fails after answers of several operations is one finding', async () => {
  const careless: FlowFunction = async context => {
    const count = async (path: string) => {
      const answer = await sendTo(context, `GET ${path}`, undefined, { signal: AbortSignal.timeout(30_000) })
      return ((await answer.json()) as { data: unknown[] }).data.length
    }
    return [await count('/v1/batches'), await count('/v1/files')]
  }
  const { findings, card } = await explore(careless, { fixtures: 'empty', faults: 'singles', classes: ['status503'] })
  // Both operations fail at one line.
  expect(card.crashes).toEqual([
    {
      error: expect.stringMatching(/^TypeError: Cannot read .*\(reading 'length'\), at merged-findings\.test\.ts:\d+$/),
      runs: 5,
      faults: [
        'listBatches status503',
        'listFiles status503',
        'listBatches status503 for 60s',
        'listFiles status503 for 60s',
        'listFiles tokenRevoked',
      ],
    },
  ])
  expect(findings).toMatchObject([
    { signature: 'recovers@listBatches/crash', also: [{ signature: 'recovers@listFiles/crash' }] },
  ])
})

/** Creates, polls until it runs, deletes. Each error ends it. */
const simple: FlowFunction = async ({ fetch, url, token, sleep }) => {
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(30_000)
    const answer = await fetch(url + path, { method, headers, signal, ...(body ? { body: JSON.stringify(body) } : {}) })
    if (!answer.ok) throw new Error(`${answer.status}`)
    return (await answer.json()) as { deploy_id: string; status: string }
  }
  const spec = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const { deploy_id } = await call('POST', '/deploy/llm', spec)
  while ((await call('GET', `/deploy/${deploy_id}`)).status !== 'running') await sleep(10_000)
  await call('DELETE', `/deploy/${deploy_id}`)
}

test('a client that polls for ever after an end has one finding of two rules, and the wait leads', {
  tags: 'slow',
}, async () => {
  const plan = [
    {
      command: { verb: 'deployment.crash', target: 'ie8YS6LnLYLlEbPp', args: { times: 20 } },
      after: { kind: 'deployment.deploying' },
    },
  ] as const
  const { findings } = await replayPlan(simple, plan, { fixtures: 'empty' })
  expect(findings).toMatchObject([
    { signature: 'settles@getDeployment/ok', also: [{ signature: 'readsEnd@getDeployment/ok' }] },
  ])
  expect(findings[0]!.why).toMatch(
    /Also at: readsEnd@getDeployment\/ok \(Request \d+ .+ is failed\. The client polled on: .+ Poll a deployment until it is running, failed, stopped or deleted\.\)\./,
  )
})

test('a loop that does not know an end is found at its poll, whatever the client does after it', async () => {
  const patient: FlowFunction = async context => {
    const call = (...request: [method: string, path: string, body?: object]) =>
      must<{ deploy_id: string; status: string }>(context, ...request)
    const spec = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
    const { deploy_id } = await call('POST', '/deploy/llm', spec)
    try {
      for (let polls = 0; (await call('GET', `/deploy/${deploy_id}`)).status !== 'running'; polls++) {
        if (polls > 90) throw new Error(`${deploy_id} does not run`)
        await context.sleep(10_000)
      }
    } finally {
      await call('DELETE', `/deploy/${deploy_id}`)
    }
  }
  const command = { verb: 'deployment.stop', target: 'ie8YS6LnLYLlEbPp' }
  const stopped = { command, after: { kind: 'deployment.running' } } as const
  const { findings } = await replayPlan(patient, [stopped], { fixtures: 'empty' })
  expect(findings).toMatchObject([{ signature: 'readsEnd@getDeployment/ok', also: [] }])
  const reset = { fault: { on: 'deleteDeployment', nth: 1, fault: { kind: 'reset' } } } as const
  const both = await replayPlan(patient, [stopped, reset], { fixtures: 'empty' })
  expect(both.findings.map(({ signature }) => signature)).toContain('readsEnd@getDeployment/ok')
})

test('a client that does not know one end, and waits without an end for another reason, has two findings', () => {
  const story = { invariant: '', what: '', expected: '', causes: [], inputs: '', requests: '' }
  const words = { ...story, tooLateFrom: '', necessary: '', leftOut: '', also: [], advice: '' }
  const of = (invariant: string, place: string, crash: number) => {
    const signature = `${invariant}@${place}`
    return { invariant, signature, words: '', why: '', story: words, also: [], plan: [{ crash }] }
  }
  const [wait, sameWait] = [of('settles', 'getBatch/ok', 1), of('readsEnd', 'getBatch/ok', 1)]
  expect(mergeFindings([sameWait, wait])).toMatchObject([{ signature: wait.signature, also: [sameWait] }])
  for (const other of [
    of('readsEnd', 'getBatch/ok', 2),
    of('readsEnd', 'listFiles/ok', 1),
    of('noLeak', 'getBatch/ok', 1),
  ])
    expect(mergeFindings([wait, other])).toHaveLength(2)
})

test('findings are sorted by harm: own invariants, wrong results, money, ends, conduct', () => {
  const story = { invariant: '', what: '', expected: '', causes: [], inputs: '', requests: '' }
  const words = { ...story, tooLateFrom: '', necessary: '', leftOut: '', also: [], advice: '' }
  const names = [
    'honoursRetryAfter',
    'backsOff',
    'recovers',
    'noLeak',
    'ownRule',
    'settles',
    'noSilentLoss',
    'noDouble',
  ]
  const found = names.map(invariant => {
    return { invariant, signature: `${invariant}@listFiles/ok`, words: invariant, why: '', story: words, also: [] }
  })
  expect(mergeFindings(found).map(({ invariant }) => invariant)).toEqual([
    ...['ownRule', 'noSilentLoss', 'noLeak', 'noDouble', 'settles', 'recovers', 'honoursRetryAfter', 'backsOff'],
  ])
})

/** Lists the models of the service. An answer that it cannot read counts as an empty list. */
const lossy: FlowFunction = async ({ fetch, url, token }) => {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/v1/models`, { headers, signal: AbortSignal.timeout(30_000) })
  const { data } = (await answer.json().catch(() => ({ data: [] }))) as { data: { id: string }[] }
  return data.map(({ id }) => id)
}

test('a loss that also occurs after a crash is one finding', { tags: 'slow' }, async () => {
  const { findings } = await explore(lossy, { fixtures: 'default', classes: ['empty'] })
  const [ok, crash] = ['noSilentLoss@listServedModels/ok', 'noSilentLoss@listServedModels/crash']
  expect(findings).toMatchObject([{ signature: ok, plan: [{}], also: [{ signature: crash, plan: [{}, {}] }] }])
})
