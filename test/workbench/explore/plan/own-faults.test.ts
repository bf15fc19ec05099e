/** Faults of a flow: which points they become, and what is wrong with invalid ones. */

import { describe, expect, test } from 'vitest'
import { flow } from '../../../../src/workbench/explore/declare-flow.ts'
import { explore } from '../../../../src/workbench/explore/explore-flow.ts'
import type { FlowContext, FlowOptions } from '../../../../src/workbench/explore/flow.ts'
import { checkOwnFaults, type OwnFault } from '../../../../src/workbench/explore/plan/own-faults.ts'
import { spaceOf } from '../../../../src/workbench/explore/plan/space.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { shrink } from '../../../../src/workbench/explore/shrink/shrink.ts'
import { batchLine, startBatch } from '../../../setup/batches.ts'
import { askTo } from '../../../setup/send-to.ts'

/** Reads the page of batches three times, and takes any list for one. */
async function readThrice({ fetch, url, token, sleep }: FlowContext): Promise<number> {
  let count = 0
  for (let nth = 0; nth < 3; nth++) {
    const response = await fetch(`${url}/v1/batches`, { headers: { authorization: `Bearer ${token}` } })
    const { data } = response.status === 200 ? ((await response.json()) as { data: unknown[] }) : { data: [] }
    count += data.length
    await sleep(1000)
  }
  return count
}

const PAGE = { object: 'list', data: null, has_more: true }
const NULL_PAGE: OwnFault = { name: 'null-page', on: 'listBatches', fault: { kind: 'status', status: 200, body: PAGE } }

/** Asks two questions by a batch, and throws if one is not answered. */
async function needEachLine(context: FlowContext): Promise<void> {
  const lines = ['a', 'b'].map(content => {
    const body = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content }], max_tokens: 2 }
    return batchLine(content, body)
  })
  const batch = await startBatch(context, lines)
  for (let polls = 0; polls < 50; polls++) {
    await context.sleep(60_000)
    const { status, request_counts: counts } = (await askTo(context, `GET /v1/batches/${batch.id}`)).body
    if (status === 'completed' && counts.completed === 2) return
  }
  throw new Error('A line has no answer.')
}

async function exploreWith(
  faults: readonly OwnFault[],
  options: FlowOptions = {},
  depth: 'singles' | 'pairs' = 'singles',
) {
  const reader = flow('reader', { fixtures: 'empty', ...options, faults }, readThrice)
  return explore(reader, { faults: depth, classes: ['latency'] })
}

const throws = { throwsNever: ({ end }: { end: { kind: string } }) => (end.kind === 'threw' ? 'It threw.' : undefined) }

describe('an own fault', () => {
  test('without a count strikes each request of its operations', { tags: 'slow' }, async () => {
    const report = await exploreWith([NULL_PAGE], { invariants: throws })
    const cells = report.matrix.filter(cell => cell.class === 'null-page')
    expect(cells).toMatchObject([{ operation: 'listBatches', found: 3, notReached: 0 }])
    const found = report.findings.find(({ invariant }) => invariant === 'throwsNever')!
    expect(found.plan).toMatchObject([{ fault: { on: 'listBatches', nth: 1, fault: { kind: 'status', status: 200 } } }])
  })

  test('with a count is one point, and one that meets nothing is not reached', { tags: 'slow' }, async () => {
    const { matrix } = await exploreWith([
      { ...NULL_PAGE, nth: 2 },
      { ...NULL_PAGE, name: 'late', nth: 9 },
    ])
    expect(matrix.filter(({ class: name }) => name === 'null-page')).toMatchObject([{ survived: 1, notReached: 0 }])
    expect(matrix.filter(({ class: name }) => name === 'late')).toMatchObject([{ notReached: 1 }])
  })

  test.each([{}, { every: 2 }, { chance: 0.9 }])(
    'for lines of batches stays one point as declared: %j',
    { tags: 'slow' },
    async count => {
      const rule: OwnFault = {
        on: 'createChatCompletion',
        in: 'batch',
        ...count,
        fault: { kind: 'status', status: 500 },
      }
      const runner = createFlowRunner({
        name: 'lines',
        options: { fixtures: 'empty', invariants: throws },
        run: needEachLine,
      })
      const own = checkOwnFaults({ faults: [rule] }, 'Failed')
      const { kinds } = spaceOf(await runner.run([]), { operations: runner.operations, own })
      const points = kinds.filter(({ kind }) => kind === 'own').flatMap(({ places }) => places[0]!.points)
      const plan = points.map(({ item }) => item)
      const { broken, fired } = await runner.run(plan)
      expect(fired.size).toBe(1)
      const { signature } = broken.find(({ invariant }) => invariant === 'throwsNever')!
      expect(await shrink({ runner, plan, signature })).toMatchObject({ plan: [{ fault: rule }], isMinimal: true })
    },
  )

  test('is beside a line that fails where a flow creates a batch', { tags: 'slow' }, async () => {
    const worldOf = async (run: (context: FlowContext) => Promise<unknown>) => {
      const runner = createFlowRunner({ name: 'lines', options: { fixtures: 'empty', invariants: throws }, run })
      const { kinds } = spaceOf(await runner.run([]), { operations: runner.operations })
      const points = kinds.flatMap(({ places }) => places.flatMap(place => place.points))
      return { runner, points: points.filter(point => point.class === 'failedLine') }
    }
    expect((await worldOf(readThrice)).points).toEqual([])
    const { runner, points } = await worldOf(needEachLine)
    expect(points).toMatchObject([
      { operation: 'batch.in_progress', place: expect.stringMatching(/^line 2 of batch_/) },
    ])
    const plan = points.map(({ item }) => item)
    const { broken, fired } = await runner.run(plan)
    expect(fired.size).toBe(1)
    const { signature } = broken.find(({ invariant }) => invariant === 'throwsNever')!
    const fault = { on: '*', in: 'batch', nth: 2, fault: { kind: 'status', status: 500 } }
    expect((await shrink({ runner, plan, signature }))!.plan).toEqual([{ fault, passes: false }])
  })

  test('that no request meets is not reached', { tags: 'slow' }, async () => {
    const { unreached } = await exploreWith([{ ...NULL_PAGE, on: 'cancelBatch' }])
    expect(unreached).toMatchObject([{ operation: 'cancelBatch', class: 'null-page', reason: 'notFired' }])
  })

  test('can be a command at a moment, with a name or without', { tags: 'slow' }, async () => {
    const command: OwnFault = { command: { verb: 'funds.set', args: { usd: 0 } }, after: { kind: 'start' } }
    const named: OwnFault = { ...command, name: 'no-money', command: { verb: 'funds.set', args: { usd: 1 } } }
    const { matrix } = await exploreWith([command, named])
    for (const one of ['funds.set', 'no-money']) {
      expect(matrix.filter(({ class: name }) => name === one)).toMatchObject([{ operation: 'start', survived: 1 }])
    }
  })

  test('is paired with others', { tags: 'slow' }, async () => {
    const report = await exploreWith([{ ...NULL_PAGE, fault: { kind: 'latency', delay: '20m' } }], {}, 'pairs')
    expect(report.runsOf.pairs).toBeGreaterThan(0)
  })

  test('says whether it passes', () => {
    const own = { ...NULL_PAGE, nth: 1 }
    const items = checkOwnFaults({ faults: [own, { ...own, name: 'later', passes: true }] }, 'Failed').map(
      ({ item }) => item,
    )
    expect(items).toMatchObject([{ passes: false }, { passes: true }])
  })
})

test.each<[unknown, string]>([
  [{}, 'faults is not a list. Write faults: ['],
  [
    [{ on: 'listBatchs', fault: { kind: 'empty' } }],
    "faults[0].on: unknown operation 'listBatchs'. Did you mean 'listBatches'?",
  ],
  [[NULL_PAGE, { on: '*', fault: { kind: 'emty' } }], 'faults[1].fault.kind: '],
  [[{ on: '*', nth: 1, times: 1, fault: { kind: 'empty' } }], 'faults[0]: times and nth contradict each other.'],
  [
    [{ command: { verb: 'batch.cancle' }, after: { kind: 'start' } }],
    "faults[0].command.verb: unknown command 'batch.cancle'. Did you mean",
  ],
  [[{ command: { verb: 'hub.down' } }], 'faults[0].after: '],
  [
    [{ name: 'a b', command: { verb: 'hub.down' }, after: { kind: 'start' } }],
    "faults[0].name: expected text of letters, digits, dot, dash and underscore, got 'a b'. Fix that value.",
  ],
  [
    [
      { ...NULL_PAGE, name: 'x' },
      { name: 'x', command: { verb: 'hub.down' }, after: { kind: 'start' } },
    ],
    'faults[1].name: it is also that of faults[0]. Give each another name.',
  ],
  [[{ on: 'listBatches' }], 'faults[0].fault: '],
  [[{ fault: { kind: 'empty' } }], 'faults[0].on: '],
  [[undefined], 'faults[0]: expected a fault rule or a command, got nothing. Give an object.'],
  [[null], 'faults[0]: expected a fault rule or a command, got null. Give an object.'],
  [[{ ...NULL_PAGE, pases: true }], "faults[0].pases: unknown field. Did you mean 'passes'? Rename or remove it."],
  [[NULL_PAGE, { ...NULL_PAGE, on: '*' }], 'faults[1].name: it is also that of faults[0]. Give each another name.'],
  [[{ ...NULL_PAGE, passes: 'yes' }], 'faults[0].passes: expected true or false.'],
])('%j is refused', (faults, message) => {
  const declare = () => flow('reader', { faults: faults as OwnFault[] }, readThrice)
  expect(declare).toThrow(`Failed to declare the flow 'reader': ${message}`)
})

test.each([
  [{ tells: 3 }, 'tells is 3. Give a function that reads the result.'],
  [{ own: ['id'] }, 'own is ["id"]. Give a function that reads the result.'],
  [{ lines: null }, 'lines is null. Give a function that reads the result.'],
  [{ tellsBy: 'outptu' }, "tellsBy is \"outptu\". Give 'result' or 'output'."],
])('the options %j are refused', (options, message) => {
  expect(() => flow('reader', options as never, readThrice)).toThrow(`Failed to declare the flow 'reader': ${message}`)
})
