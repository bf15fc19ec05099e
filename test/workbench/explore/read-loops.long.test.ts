/** A client that polls what nothing can change any more is stopped, once a run has shown that it never leaves the loop. */

import { expect, test } from 'vitest'
import { exploreRuns } from '../../../src/workbench/explore/explore.ts'
import type { FlowContext } from '../../../src/workbench/explore/flow.ts'
import { describeJudged } from '../../../src/workbench/explore/report/card-words.ts'
import { askTo } from '../../setup/send-to.ts'
import { batchOf, runnerOf, uploadLines } from './small-clients.ts'

/** Waits until its batch is completed, whatever else becomes of it, and gives up after so many polls. */
const polling = (limit: number) => async (context: FlowContext) => {
  const file = await uploadLines(context, { a: 'Count.' })
  let { body: batch } = await askTo(context, 'POST /v1/batches', batchOf(file))
  for (let polls = 0; batch.status !== 'completed'; polls++) {
    if (polls === limit) throw new Error(`${batch.id} is late`)
    await context.sleep(60_000)
    batch = (await askTo(context, `GET /v1/batches/${batch.id}`)).body
  }
  return batch.id
}

async function findingsOf(limit: number) {
  const runner = runnerOf(polling(limit))
  const lengths: number[] = []
  const run = runner.run.bind(runner)
  runner.run = async (...args) => {
    const result = await run(...args)
    lengths.push(result.requests.length)
    return result
  }
  const { findings } = await exploreRuns(runner, { name: 'client', faults: 'singles', classes: ['drift'] })
  return { findings: findings.filter(({ signature }) => signature.includes('@getBatch')), lengths }
}

test('a loop that a run never left ends later runs', async () => {
  const { findings, lengths } = await findingsOf(Number.POSITIVE_INFINITY)
  const words = findings.flatMap(({ invariant, words }) => (invariant === 'settles' ? words : []))
  expect(words).toEqual([
    expect.stringContaining('it waits for a change, and nothing can change any more'),
    expect.stringMatching(/it sent more than 2,000 requests.*\(getBatch, 401\)/),
  ])
  const long = lengths.filter(length => length > 500)
  expect(lengths.filter(length => length > 60).length).toBeGreaterThan(3)
  expect(long.length).toBeLessThanOrEqual(2)
})

test('a loop that has an end is never stopped', async () => {
  const { findings, lengths } = await findingsOf(160)
  expect(findings.map(({ invariant }) => invariant)).not.toContain('settles')
  expect(Math.max(...lengths)).toBeGreaterThan(160)
})

test('a client that never ends without a fault is tried with no fault, and the card says no more', async () => {
  const run = async ({ fetch, url, token, sleep }: FlowContext) => {
    for (;;) {
      await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${token}` } })
      await sleep(60_000)
    }
  }
  const { findings, card, stoppedBecause } = await exploreRuns(runnerOf(run), { name: 'client', faults: 'singles' })
  expect(findings.map(({ invariant }) => invariant)).toEqual(['settles'])
  expect(stoppedBecause).toBe('unsettled')
  expect([...new Set(card.invariants.map(({ notJudged }) => notJudged))]).toEqual(['no fault acted'])
  expect(describeJudged(card)).toEqual(['No invariant was judged with a fault (no fault acted).'])
})
