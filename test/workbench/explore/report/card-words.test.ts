/** The card names the faults after which a client ended with an error. */
import { expect, test } from 'vitest'
import type { Point } from '../../../../src/workbench/explore/plan/space.ts'
import { describeCard } from '../../../../src/workbench/explore/report/card-words.ts'
import type { RunTelling } from '../../../../src/workbench/explore/run/runner.ts'
import { CardWriter } from '../../../../src/workbench/explore/stages/card.ts'

const CLASSES = ['status503', 'resetDone', 'hang', 'truncated', 'status503 for 60s']

test('an operation has its classes of faults, at most three, those with the most runs first', () => {
  const card = new CardWriter()
  const add = (operation: string, name: string, grade: RunTelling['grade']) => {
    const point = { operation, class: name, kind: 'request', item: {} } as unknown as Point
    card.add({ grade, judged: [], said: undefined, unclear: undefined } as unknown as RunTelling, point)
  }
  for (const name of ['hang', 'hang']) add('getDeployment', name, 'endless')
  for (const name of CLASSES) add('createLlmDeployment', name, 'raw')
  add('deleteDeployment', 'latency', 'usual')
  const { ended, ...rest } = card.toCard({})
  expect(ended).toEqual([
    { place: 'createLlmDeployment', runs: 5, faults: CLASSES.slice(0, 3) },
    { place: 'getDeployment', runs: 2, faults: ['hang'] },
  ])
  const words = describeCard({ ended, ...rest }, 0)
    .join(' ')
    .replaceAll(/\s+/g, ' ')
  expect(words).toContain(
    'After faults of these operations, it ended with an error or did not end: createLlmDeployment (5 runs: status503, ' +
      'resetDone, hang), getDeployment (2 runs: hang).',
  )
})
