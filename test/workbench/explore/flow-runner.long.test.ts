import { expect, test } from 'vitest'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'

test('a flow that sends requests without end is stopped at the limit of a run', async () => {
  const runner = createFlowRunner({
    name: 'flow',
    options: { fixtures: 'empty' },
    run: async ({ fetch, url, sleep }) => {
      for (;;) {
        await fetch(`${url}/deploy/list`)
        await sleep(1)
      }
    },
  })
  const result = await runner.run([])
  expect(result.end).toBe('unsettled')
  expect(result.requests).toHaveLength(2_001)
  const { words } = result.broken.find(({ invariant }) => invariant === 'settles')!
  expect(words).toContain('it sent more than 2,000 requests, the limit of a run')
})
