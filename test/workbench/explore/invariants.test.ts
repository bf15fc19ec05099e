import { describe, expect, test } from 'vitest'
import { OPTIONAL_RULE_NAMES, RULE_NAMES } from '../../../src/simulator/judge/rules/index.ts'
import { explore, flow } from '../../../src/workbench/explore/index.ts'
import { assertInvariants, type InvariantSettings } from '../../../src/workbench/explore/invariants.ts'
import { createFlowRunner } from '../../../src/workbench/explore/run/flow-runner.ts'
import { CARELESS_FLOWS } from './careless-flows.ts'

test('each invariant and each rule of conduct sees what a careless client does wrong', { tags: 'slow' }, async () => {
  const words = new Map<string, string>()
  for (const { flow, plans } of CARELESS_FLOWS) {
    const runner = createFlowRunner(flow)
    for (const plan of plans) {
      for (const broken of (await runner.run(plan)).broken) words.set(broken.invariant, broken.words)
    }
    await runner.dispose()
  }
  expect([...words.keys()].sort()).toEqual([...RULE_NAMES, ...OPTIONAL_RULE_NAMES].sort())
  for (const text of words.values()) expect(text.length).toBeGreaterThan(20)
  expect(words.get('usesLists')).toMatch(/^The client read 6 things one by one with getModel/)
})

describe('settings of invariants', () => {
  const check = (settings: object) => () => assertInvariants(settings as InvariantSettings, 'Failed to explore deploys')

  test('are false, their value, or a function of the user', () => {
    expect(
      check({ settles: '2h', pollsAtMost: 0.5, spendsAtMost: 0, noLeak: true, noDouble: false, mine: () => undefined }),
    ).not.toThrow()
    expect(check({ settles: false, pollsAtMost: undefined })).not.toThrow()
  })

  test('are not options beside the others', () => {
    const options = { settles: '30d', faults: {} } as object
    const reason = 'settles is an invariant. Give it as in invariants: { settles: … }.'
    expect(() => flow('deploys', options, () => {})).toThrow(`Failed to declare the flow 'deploys': ${reason}`)
    return expect(explore(() => {}, options)).rejects.toThrow(`Failed to explore: ${reason}`)
  })

  test.each<[object, string]>([
    [{ noLeek: false }, "unknown invariant 'noLeek'. Did you mean 'noLeak'?"],
    [
      { spreadsRetries: true },
      'spreadsRetries cannot be an invariant: it compares several clients, and a flow is one. ' +
        'Judge a run of several clients instead.',
    ],
    [{ mine: true }, "unknown invariant 'mine'. An invariant of your own is a function."],
    [
      { settles: 'soon' },
      'the invariant settles is "soon". Give a duration above 0 like \'48h\', or false to turn it off.',
    ],
    [{ settles: 0 }, "the invariant settles is 0. Give a duration above 0 like '48h', or false to turn it off."],
    [{ pollsAtMost: 0 }, 'the invariant pollsAtMost is 0. Give a number above 0, or false to turn it off.'],
    [{ spendsAtMost: -1 }, 'the invariant spendsAtMost is -1. Give US dollars, 0 or more, or false to turn it off.'],
    [{ noLeak: 1 }, 'the invariant noLeak is 1. Give true, or false to turn it off.'],
    [{ noLeak: () => undefined }, 'the invariant noLeak is a function. Give true, or false to turn it off.'],
  ])('are refused as %o', (settings, reason) => {
    expect(check(settings)).toThrow(new RangeError(`Failed to explore deploys: ${reason}`))
  })
})
