/** The fleet as the page draws it, and where it draws it. */

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countGpus,
  describeGpu,
  findAt,
  layoutFleet,
  lettersOf,
  neighborOf,
  toFleet,
  toSections,
} from '../../../src/server/page/views/fleet/fleet-model.ts'
import { forAll } from '../../setup/for-all.ts'

type Answer = Parameters<typeof toFleet>[0]

/** Returns an answer with so many nodes in each group. */
function answerOf(counts: readonly number[], gpus = 8): Answer {
  const groups = counts.map((_, index) => ({
    ...{ pool: `pool-${index}`, zone: `zone-${index % 2}`, market: 'on-demand' as const, gpu: 'H100-80GB', gpus },
    unavailable: null,
  }))
  const nodes = counts.flatMap((count, group) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ name: `node-${group}-${index}`, group, state: 'ready' as const, slowdown: 1, disk_full: false },
      ...{ gpus: Array.from({ length: gpus }, () => -1), holders: [] },
    })),
  )
  const total = nodes.length * gpus
  return {
    ...{ groups, owners: [], nodes, waiting: [], waiting_count: 0 },
    totals: { nodes: nodes.length, gpus: total, free: total, held: 0, others: 0, broken: 0, unusable: 0 },
  }
}

/** Returns the fleet as a page draws it that opens now. */
const fleetOf = (answer: Answer) => toFleet(answer, new Map())

describe('the fleet of an answer', () => {
  test('has the groups of its nodes, and keeps the place of an owner', () => {
    const rest = { kind: 'deployment' as const, status: 'running', utilisation: 0.5, engine: null }
    const ownerOf = (id: string) => ({ ...rest, id, name: id })
    const places = new Map<string, number>()
    const first = toFleet({ ...answerOf([2]), owners: [ownerOf('a'), ownerOf('b')] }, places)
    expect(first.nodes.get('node-0-1')!.group.zone).toBe('zone-0')
    const second = toFleet({ ...answerOf([1]), owners: [ownerOf('b'), ownerOf('c')] }, places)
    expect([...second.nodes.keys()]).toEqual(['node-0-0'])
    const expected = [
      ['b', 1],
      ['c', 2],
    ]
    expect([...second.owners.values()].map(({ id, index }) => [id, index])).toEqual(expected)
  })

  test('counts each GPU once: that of a node that is down is unusable', () => {
    const answer = answerOf([2])
    const [one, other] = answer.nodes
    const { nodes } = fleetOf({
      ...answer,
      nodes: [
        { ...one!, gpus: [-1, -2, -3] },
        { ...other!, state: 'down', gpus: [-1, -1, -3] },
      ],
    })
    expect(countGpus(nodes.values())).toEqual({ gpus: 6, held: 0, free: 1, others: 1, unusable: 4 })
  })

  test('says of a GPU how fast its instance can be, and how sure that is', () => {
    const speed = { class: 'tuned' as const, tokens_per_second: 2900.4, band: 0.2, rows: 297, is_assumed: false }
    const words = (engine: object) => {
      const answer = answerOf([1])
      const owner = { id: 'a', kind: 'deployment' as const, name: 'acme/chat', status: 'running', utilisation: null }
      const owners = [{ ...owner, engine: { ...speed, places: 64, limit: 'memory' as const, ...engine } }]
      const holders = [{ id: 'a-0', owner: 'a', state: 'ready' }]
      const fleet = fleetOf({ ...answer, owners, nodes: [{ ...answer.nodes[0]!, gpus: [0], holders }] })
      return describeGpu(fleet, fleet.nodes.get('node-0-0')!, 0)
    }
    const start = 'GPU 0: acme/chat, instance a-0, ready, at most 2,900 tokens/s'
    expect([words({}), words({ rows: 0 }), words({ band: null, rows: 0 })]).toEqual([
      `${start} ± 20 %, tuned, validated on 297 rows`,
      `${start} ± 20 %, tuned, validated on held-out rows`,
      `${start}, not validated, tuned`,
    ])
  })

  test('names owners by letters', () => {
    expect([0, 25, 26, 701, 702].map(lettersOf)).toEqual(['A', 'Z', 'AA', 'ZZ', 'AAA'])
  })
})

describe('the layout of the fleet', () => {
  const counts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 })

  test('finds each node and GPU where it draws it, in any width', { tags: 'slow' }, () => {
    forAll(
      [counts, fc.integer({ min: 200, max: 1600 }), fc.integer({ min: 200, max: 1200 })],
      (list, width, height) => {
        const layout = layoutFleet(toSections(fleetOf(answerOf(list))), width, height)
        const found = layout.boxes.flatMap(box => {
          const top = box.y + layout.nameHeight + layout.padding
          return [
            box.x + box.width <= Math.max(width, box.width),
            findAt(layout, box.x + layout.padding + 1, top + 1),
            findAt(layout, box.x + box.width - layout.padding - 1, box.y + box.height - layout.padding - 1),
          ]
        })
        expect(found).toEqual(layout.boxes.flatMap(({ node }) => [true, { node, gpu: 0 }, { node, gpu: 7 }]))
        expect(layout.boxes).toHaveLength(list.reduce((sum, count) => sum + count, 0))
      },
    )
  })

  test('leads from any node to any other with the arrow keys', { tags: 'slow' }, () => {
    forAll([counts, fc.nat()], (list, seed) => {
      const layout = layoutFleet(toSections(fleetOf(answerOf(list))), 900, 700)
      const start = seed % layout.boxes.length
      let index = start
      for (let step = 0; step < layout.boxes.length * 2; step++) index = neighborOf(layout, index, 'up')
      expect(layout.boxes[index]!.y).toBe(layout.boxes[0]!.y)
      for (let step = 0; step < layout.boxes.length; step++) index = neighborOf(layout, index, 'left')
      expect(index).toBe(0)
      for (let step = 0; step < start; step++) index = neighborOf(layout, index, 'right')
      expect(index).toBe(start)
    })
  })

  test('shows 10,000 GPUs with at least nine pixels each', () => {
    const layout = layoutFleet(toSections(fleetOf(answerOf([625, 625]))), 950, 700)
    expect(layout.cell).toBe(9)
    expect(layout.height).toBeLessThan(2_200)
  })
})
