/** Rules for the requests of one thing (`path`), and faults that continue for a time (`nth` with `for`). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { globOf } from '../../../src/lib/patterns.ts'
import { operations } from '../../../src/service/index.ts'
import { canHavePath } from '../../../src/simulator/faults/path-pattern.ts'
import type { Fault, FaultRule } from '../../../src/simulator/faults/rules.ts'
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts'
import { forAll } from '../../setup/for-all.ts'
import { sendTo } from '../../setup/send-to.ts'

const DOWN: Fault = { kind: 'status', status: 503 }
const OUTAGE: FaultRule = { name: 'outage', on: 'listDeployments', nth: 2, for: '60s', fault: DOWN }

async function status(sim: Simulator, path = '/deploy/list'): Promise<number> {
  return (await sendTo(sim, `GET ${path}`)).status
}

/** Asks once every 20 s. */
async function statuses(sim: Simulator, count: number): Promise<number[]> {
  const seen: number[] = []
  for (let i = 0; i < count; i++) {
    seen.push(await status(sim))
    await sim.clock.advance('20s')
  }
  return seen
}

describe('a fault with nth and for', () => {
  test('hits every request from the nth match until the time is over, and counts all of them', async () => {
    const sim = createSimulator({ faults: [OUTAGE] })
    expect(await statuses(sim, 6)).toEqual([200, 503, 503, 503, 200, 200])
    expect(sim.faults.get('outage')).toMatchObject({ matches: 6, hits: 3, rule: { nth: 2, for: '60s' } })
    expect(sim.journal.entries().filter(({ kind }) => kind === 'fault.hit')).toHaveLength(3)
  })

  test('begins with its nth match even if an earlier rule acts on that request', async () => {
    const sim = createSimulator({
      faults: [{ on: 'listDeployments', nth: 2, fault: { kind: 'status', status: 500 } }, OUTAGE],
    })
    expect(await statuses(sim, 5)).toEqual([200, 500, 503, 503, 200])
    expect(sim.faults.get('outage')).toMatchObject({ matches: 5, hits: 2 })
  })

  test('ends with the window of the rule if that ends earlier', async () => {
    const sim = createSimulator({ faults: [{ ...OUTAGE, until: '50s' }] })
    expect(await statuses(sim, 5)).toEqual([200, 503, 503, 200, 200])
  })

  test('continues in a fork and in a restored snapshot, and begins again after a reset', async () => {
    const sim = createSimulator({ faults: [OUTAGE] })
    expect(await statuses(sim, 2)).toEqual([200, 503])
    const snapshot = await sim.snapshot()
    const expected = [503, 503, 200]
    const fork = sim.fork()
    expect(await statuses(fork, 3)).toEqual(expected)
    expect(await statuses(createSimulator({ fixtures: snapshot }), 3)).toEqual(expected)
    // The fork has not ended the outage of its origin.
    expect(await statuses(sim, 3)).toEqual(expected)
    expect([sim.faults.get('outage'), fork.faults.get('outage')]).toMatchObject(Array(2).fill({ matches: 5, hits: 3 }))
    sim.reset()
    expect(await statuses(sim, 6)).toEqual([200, 503, 503, 503, 200, 200])
  })

  test.each([
    [{ on: '*', for: '60s' }, "$.for: the time begins at the nth match. Give 'nth' too"],
    [{ on: '*', times: 1, for: '60s' }, "$.for: the time begins at the nth match. Give 'nth' too"],
    [{ on: '*', nth: 1, for: '0s' }, "$.for: expected a duration above 0, like '60s', got '0s'"],
    [{ on: '*', nth: 1, for: '-1s' }, '$.for: expected a duration of at least 0'],
    [{ on: '*', nth: 1, for: 'long' }, '$.for: expected a duration of at least 0'],
  ])('is refused as %j', (rule, reason) => {
    const sim = createSimulator()
    expect(() => sim.faults.add({ ...rule, fault: DOWN } as FaultRule)).toThrow(`Failed to add the fault: ${reason}`)
    expect(sim.faults.list()).toEqual([])
  })
})

describe('a rule with a path', () => {
  const ids = async (sim: Simulator) => {
    const rows = (await (await sendTo(sim, 'GET /deploy/list')).json()) as { deploy_id: string }[]
    return rows.map(({ deploy_id }) => deploy_id)
  }

  test('counts the requests of one thing, with and without a query', async () => {
    const sim = createSimulator()
    const [one, other] = await ids(sim)
    const rule = sim.faults.add({ on: 'getDeployment', path: `/deploy/${one}`, nth: 2, fault: DOWN })
    const asked = [one, other, other, `${one}?x=1`, `${one}/`, one]
    const seen: number[] = []
    for (const id of asked) seen.push(await status(sim, `/deploy/${id}`))
    expect(seen).toEqual([200, 200, 200, 503, 200, 200])
    expect([rule.matches, rule.hits]).toEqual([4, 1])
  })

  test.each([
    ['/deploy/*', '/deploy/list', 503],
    ['/deploy/*', '/v1/voices', 200],
    ['*/list', '/deploy/list', 503],
    ['/models/acme/*', '/models/acme/nothing', 503],
    ['/models/acme/no thing', '/models/acme/no%20thing', 503],
    ['/models/acme', '/models/acme/nothing', 404],
  ])('%s decides about a request for %s: %i', async (path, asked, expected) => {
    const sim = createSimulator({ faults: [{ on: '*', path: path.replace(/^\*/, '/*'), fault: DOWN }] })
    expect(await status(sim, asked)).toBe(expected)
  })

  test('reads the neutral path of a request with vendor names', { tags: 'slow' }, async () => {
    const names = { paths: { aggregator: 'index' } }
    const sim = createSimulator({ names, faults: [{ on: '*', path: '/aggregator/*', fault: DOWN }] })
    expect(await status(sim, '/index/models')).toBe(503)
    expect(await status(sim, '/v1/voices')).toBe(200)
  })

  test.each([
    ['/deploy/list/more', "$.path: no request of getDeployment has such a path. Give one that fits '/deploy/*', or"],
    ['/deploy/*?x=1', '$.path: no request of getDeployment has such a path. Leave the query out.'],
    ['/deploy/', '$.path: no request of getDeployment has such a path. Leave the last slash out.'],
    ['deploy/*', "$.path: expected text that begins with a slash, like '/deploy/dep_*', got 'deploy/*'"],
    ['', '$.path: expected at least 1 character'],
    [`/${'*'.repeat(1000)}`, '$.path: expected at most 1000 characters'],
  ])('is refused as %s', (path, reason) => {
    const sim = createSimulator()
    expect(() => sim.faults.add({ on: 'getDeployment', path, fault: DOWN })).toThrow(
      `Failed to add the fault: ${reason}`,
    )
    expect(sim.faults.list()).toEqual([])
  })

  const routes = fc.constantFrom(...Object.values(operations).map(({ path }) => path))
  const word = fc.stringMatching(/^[a-z_]{1,6}$/)
  const pathOf = (route: string, values: readonly string[]) => {
    let used = 0
    return route.replaceAll(/\{\w+\}/g, () => values[used++ % values.length]!)
  }

  test('is never refused if its pattern fits a path of the operation', () => {
    const cut = fc.tuple(fc.nat(), fc.nat())
    forAll([routes, fc.array(word, { minLength: 1 }), fc.array(cut, { maxLength: 3 })], (route, values, cuts) => {
      let pattern = pathOf(route, values)
      for (const [from, length] of cuts) {
        const at = from % (pattern.length + 1)
        pattern = `${pattern.slice(0, at)}*${pattern.slice(at + (length % 5))}`
      }
      expect(canHavePath(route, pattern)).toBe(true)
    })
  })

  test('is refused only if its pattern fits no path of the operation', () => {
    forAll([routes, routes, fc.array(word, { minLength: 1 }), fc.nat()], (route, other, values, at) => {
      const pattern = pathOf(other, ['*', ...values])
      const refused = !canHavePath(route, pattern)
      const path = pathOf(route, [values[at % values.length]!, 'list', 'acme'])
      expect(refused && globOf(pattern)(path)).toBe(false)
    })
  })
})
