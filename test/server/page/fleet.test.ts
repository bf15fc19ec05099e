/** The fleet as the page keeps it, and where it draws it. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boxOf, findAt, layoutFleet, neighborOf } from '../../../src/server/page/views/fleet/fleet-layout.ts'
import { countGpus, foldFleet, lettersOf, toSections } from '../../../src/server/page/views/fleet/fleet-model.ts'

type Answer = Parameters<typeof foldFleet>[1]

/** Returns an answer with so many nodes in each group. */
function answerOf(counts: readonly number[], gpus = 8): Answer {
  const groups = counts.map((_, index) => ({
    ...{ pool: `pool-${index}`, zone: `zone-${index % 2}`, market: 'on-demand' as const, gpu: 'H100-80GB', gpus },
    unavailable: null,
  }))
  const nodes = counts.flatMap((count, group) =>
    Array.from({ length: count }, (_, index): Answer['nodes'][number] => [
      `node-${group}-${index}`,
      group,
      'ready',
      Array.from({ length: gpus }, () => -1),
      [],
      1,
      false,
    ]),
  )
  const total = nodes.length * gpus
  return {
    ...{ revision: 1, full: true, now: '', groups, states: [], owners: [], nodes, removed: [] },
    ...{ waiting: [], waiting_count: 0 },
    totals: { nodes: nodes.length, gpus: total, free: total, held: 0, others: 0, broken: 0, unusable: 0 },
  }
}

describe('the kept fleet', () => {
  test('takes over what changed, and keeps the place of an owner', () => {
    const owner = { id: 'a', kind: 'deployment' as const, name: 'acme/a', status: 'running', utilisation: 0.5 }
    const first = foldFleet(undefined, {
      ...answerOf([2]),
      states: ['ready'],
      owners: [owner],
      nodes: [
        ['n0', 0, 'ready', [0, -1], [[0, 3, 0]], 1, false],
        ['n1', 0, 'ready', [-1, -2], [], 1, false],
      ],
    })
    expect(first.nodes.get('n0')!.holders).toEqual([{ owner: 'a', id: 'a-3', state: 'ready' }])
    const second = foldFleet(first, {
      ...answerOf([1]),
      ...{ revision: 2, full: false, states: ['loading'], removed: ['n1'] },
      owners: [
        { ...owner, id: 'b' },
        { ...owner, utilisation: 0.9 },
      ],
      nodes: [
        [
          'n0',
          0,
          'cordoned',
          [0, 1],
          [
            [1, 3, 0],
            [0, null, 0],
          ],
          2,
          true,
        ],
      ],
    })
    expect([...second.nodes.keys()]).toEqual(['n0'])
    expect(second.nodes.get('n0')!.holders.map(({ id }) => id)).toEqual(['a-3', 'b'])
    expect([...second.owners.values()].map(({ id, index, utilisation }) => [id, index, utilisation])).toEqual([
      ['a', 0, 0.9],
      ['b', 1, 0.5],
    ])
    expect(foldFleet(second, { ...answerOf([]), revision: 2, full: false })).toBe(second)
  })

  test('counts each GPU once: that of a node that is down is unusable', () => {
    const { nodes } = foldFleet(undefined, {
      ...answerOf([1]),
      nodes: [
        ['n0', 0, 'ready', [-1, -2, -3], [], 1, false],
        ['n1', 0, 'down', [-1, -1, -3], [], 1, false],
      ],
    })
    expect(countGpus(nodes.values())).toEqual({ gpus: 6, held: 0, free: 1, others: 1, unusable: 4 })
  })

  test('names owners by letters', () => {
    expect([0, 25, 26, 701, 702].map(lettersOf)).toEqual(['A', 'Z', 'AA', 'ZZ', 'AAA'])
  })
})

describe('the layout of the fleet', () => {
  const counts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 })

  test('finds each node and GPU where it draws it, in any width', () => {
    fc.assert(
      fc.property(
        counts,
        fc.integer({ min: 200, max: 1600 }),
        fc.integer({ min: 200, max: 1200 }),
        (list, width, height) => {
          const layout = layoutFleet(toSections(foldFleet(undefined, answerOf(list))), width, height)
          const found = layout.nodes.flatMap((_, index) => {
            const box = boxOf(layout, index)!
            const top = box.y + layout.nameHeight + layout.padding
            return [
              box.x + box.width <= Math.max(width, box.width),
              findAt(layout, box.x + layout.padding + 1, top + 1),
              findAt(layout, box.x + box.width - layout.padding - 1, box.y + box.height - layout.padding - 1),
            ]
          })
          expect(found).toEqual(layout.nodes.flatMap(node => [true, { node, gpu: 0 }, { node, gpu: 7 }]))
          expect(layout.nodes).toHaveLength(list.reduce((sum, count) => sum + count, 0))
        },
      ),
    )
  })

  test('leads from any node to any other with the arrow keys', () => {
    fc.assert(
      fc.property(counts, fc.nat(), (list, seed) => {
        const layout = layoutFleet(toSections(foldFleet(undefined, answerOf(list))), 900, 700)
        const start = seed % layout.nodes.length
        let index = start
        for (let step = 0; step < layout.nodes.length * 2; step++) index = neighborOf(layout, index, 'up')
        expect(boxOf(layout, index)!.y).toBe(boxOf(layout, 0)!.y)
        for (let step = 0; step < layout.nodes.length; step++) index = neighborOf(layout, index, 'left')
        expect(index).toBe(0)
        for (let step = 0; step < start; step++) index = neighborOf(layout, index, 'right')
        expect(index).toBe(start)
      }),
    )
  })

  test('shows 10,000 GPUs with at least nine pixels each', () => {
    const layout = layoutFleet(toSections(foldFleet(undefined, answerOf([625, 625]))), 950, 700)
    expect(layout.cell).toBe(9)
    expect(layout.height).toBeLessThan(2_200)
  })
})
