/** The card names the faults after which a client ended with an error. */
import { expect, test } from 'vitest'
import type { Plan } from '../../../../src/workbench/explore/plan/plan.ts'
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

test('a crash has its error with its faults, and a card lists five errors', () => {
  const card = new CardWriter()
  const point = (name: string) =>
    ({ operation: 'getDeployment', class: name, kind: 'request', item: {} }) as unknown as Point
  const telling = (crash: string) => ({ grade: 'crash', crash, judged: [] }) as unknown as RunTelling
  for (const name of CLASSES) card.add(telling("KeyError: 'id', at client.py:3"), point(name))
  const plan: Plan = [{ fault: { on: ['listFiles'], fault: { kind: 'reset' } } }, { crash: 1 }]
  card.add(telling("KeyError: 'id', at client.py:3"), plan)
  for (const line of [4, 5, 6, 7, 8, 9]) card.add(telling(`IndexError, at client.py:${line}`), point('empty'))
  const { crashes, ...rest } = card.toCard({})
  const faults = [...CLASSES.map(name => `getDeployment ${name}`), 'listFiles reset + crash']
  expect(crashes).toHaveLength(7)
  expect(crashes[0]).toEqual({ error: "KeyError: 'id', at client.py:3", runs: 6, faults })
  const lines = describeCard({ crashes, ...rest }, 0).filter(line => /Crash|more$/.test(line))
  expect(lines).toEqual([
    `  Crash: KeyError: 'id', at client.py:3 (6 runs: ${faults.slice(0, 3).join(', ')}, 3 more)`,
    ...[4, 5, 6, 7].map(line => `  Crash: IndexError, at client.py:${line} (1 run: getDeployment empty)`),
    '  and 2 more',
  ])
})

test('what a command left running and only printed has a line with the faults', () => {
  const card = new CardWriter()
  const telling = { grade: 'gaveUp', printedOnly: ['deployment'], judged: [] } as unknown as RunTelling
  const plan: Plan = [{ fault: { on: 'deleteDeployment', fault: { kind: 'hang' } } }]
  for (const _ of CLASSES) card.add(telling, plan)
  expect(describeCard(card.toCard({}), 0)).toContain(
    '  Left running, printed only: deployment (5 runs: deleteDeployment hang).',
  )
})
