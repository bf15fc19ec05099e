/** Explorations of flows with inputs: what only some inputs break is found, and named with the simplest inputs that break it. */
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { flow } from '../../../../src/workbench/explore/declare-flow.ts'
import { explore, replayPlan } from '../../../../src/workbench/explore/explore-flow.ts'
import type { FlowContext } from '../../../../src/workbench/explore/flow.ts'
import { integers, lists, oneOf } from '../../../../src/workbench/explore/input.ts'
import { toYamlScenario } from '../../../../src/workbench/explore/report/finding-files.ts'
import { runScenario, survives } from '../../../../src/workbench/scenario/index.ts'
import { toSurvive } from '../../../../src/workbench/testing/to-survive.ts'

const MODEL = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }

/** Creates a deployment, and deletes it if `cleansUp`. It gives up at an answer that is not a success. */
async function deploy({ fetch, url, token }: Pick<FlowContext, 'fetch' | 'url' | 'token'>, cleansUp: boolean) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const created = await fetch(`${url}/deploy/llm`, { method: 'POST', headers, body: JSON.stringify(MODEL) })
  const { deploy_id } = (await created.json()) as { deploy_id: string }
  if (cleansUp) await fetch(`${url}/deploy/${deploy_id}`, { method: 'DELETE', headers })
}

const list = ({ fetch, url, token }: Pick<FlowContext, 'fetch' | 'url' | 'token'>) =>
  fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })

/** Leaks with more than 100 lines of the large model. */
const forgetful = flow(
  'forgetful',
  {
    fixtures: 'empty',
    // It looks at no answer, so a refused create is lost without a word, too.
    invariants: { doneAsSaid: false },
    inputs: { lines: integers(1, 500), model: oneOf('small', 'large'), tags: lists(oneOf('x', 'y')) },
  },
  async ({ inputs: { lines, model }, ...context }) => {
    if (lines > 100 && model === 'large') await deploy(context, false)
    else await list(context)
  },
)
const NEEDED = { lines: 101, model: 'large', tags: [] }

test('inputs that break a client without a fault are found, and shrunk to the simplest that do', async () => {
  const { findings } = await explore(forgetful, { budget: 300, classes: ['latency'] })
  const { plan, inputs, why, shrunk, stage } = findings[0]!
  expect(findings[0]!.signature).toBe('noLeak@createLlmDeployment/ok')
  expect({ plan, inputs, stage }).toEqual({ plan: [], inputs: NEEDED, stage: 'swarm' })
  for (const other of findings) expect(other.inputs).toEqual(NEEDED)
  expect(shrunk).toMatchObject({ isMinimal: true, isRepeatable: true })
  expect(why).toContain('It happens without any fault. Inputs: lines is 101, model is "large", tags is [].')

  const file = { flow: './client.ts', plan: [], inputs: NEEDED, invariants: ['noLeak'], comment: why }
  expect(parse(toYamlScenario(file))).toMatchObject({ explore: 1, inputs: NEEDED, plan: [] })
  const play = (inputs: object) => runScenario(survives('no leak', forgetful, { plan: [], inputs: inputs as never }))
  expect((await play(NEEDED)).failure!.message).toContain('noLeak does not hold')
  expect((await play({ ...NEEDED, lines: 100 })).failure).toBeUndefined()
  expect((await play({})).failure).toBeUndefined()
})

test('the matcher for tests names the inputs, and takes them', async () => {
  const { pass, message } = await toSurvive(forgetful, { faults: 'all', budget: 300, classes: ['latency'] })
  expect(pass).toBe(false)
  const [, printed] = /Repeat: await expect\(flow\)\.toSurvive\((.*)\)/.exec(message())!
  const options = JSON.parse(printed!)
  expect(options).toEqual({ inputs: NEEDED, plan: [] })
  expect(await toSurvive(forgetful, options)).toMatchObject({ pass: false })
  expect(await toSurvive(forgetful, { ...options, inputs: { lines: 500 } })).toMatchObject({ pass: true })
  await expect(toSurvive(forgetful, { inputs: { lines: 0 } })).rejects.toThrow('Give an integer from 1 to 500')
})

/** Retries a lost answer to its create, except in the mode `once`. */
const hasty = flow(
  'hasty',
  { fixtures: 'empty', inputs: { mode: oneOf('careful', 'once'), waits: integers(0, 9) } },
  async ({ inputs, sleep, ...context }) => {
    await sleep(inputs.waits * 1000)
    await list(context)
    if (inputs.mode === 'once') await deploy(context, true)
  },
)

test('a fault that only some inputs meet is found with both, and each is necessary', async () => {
  const { findings } = await explore(hasty, { budget: 300, classes: ['resetDone', 'reset'] })
  const leak = findings.find(({ signature }) => signature === 'noLeak@createLlmDeployment/error')!
  expect(leak.inputs).toEqual({ mode: 'once', waits: 0 })
  expect(leak.plan).toMatchObject([{ fault: { fault: { effect: 'done' } } }])
  const replayed = async (inputs: object) =>
    (await replayPlan(hasty, leak.plan, { inputs: inputs as never })).findings.map(({ signature }) => signature)
  expect(await replayed(leak.inputs!)).toContain(leak.signature)
  expect(await replayed({ mode: 'careful' })).not.toContain(leak.signature)
})

test('inputs that are given take the place of the simplest ones, in every run', async () => {
  const seen = new Set<unknown>()
  const watched = { ...hasty, run: (context: FlowContext) => seen.add(context.inputs.mode) && hasty.run(context) }
  await explore(watched, { inputs: { mode: 'once' }, budget: 60, classes: ['latency'] })
  expect([...seen]).toEqual(['once'])
})

test('a flow cannot change the inputs of its next run', async () => {
  const greedy = flow(
    'greedy',
    { fixtures: 'empty', inputs: { tags: lists(oneOf('x'), { min: 1 }) } },
    async ({ inputs, ...context }) => {
      await list(context)
      return inputs.tags.push('x')
    },
  )
  expect((await explore(greedy, { faults: 'singles', classes: ['latency'] })).findings).toEqual([])
})
