import { describe, expect, test } from 'vitest'
import { OPTIONAL_RULE_NAMES, RULE_NAMES } from '../../../../src/simulator/judge/rules/index.ts'
import { assertInvariants, type InvariantSettings } from '../../../../src/workbench/explore/invariants.ts'
import { createFlowRunner } from '../../../../src/workbench/explore/run/flow-runner.ts'
import { OracleCheck } from '../../../../src/workbench/explore/stages/oracle-check.ts'
import { FakeRunner } from './fake-runner.ts'

describe('the oracle check', () => {
  test('shows every invariant what it is for', async () => {
    const { seen, unchecked } = await new OracleCheck(createFlowRunner).check({
      spendsAtMost: 100,
      mine: () => undefined,
    })
    expect(seen.map(({ invariant }) => invariant)).toEqual(RULE_NAMES)
    for (const { words } of seen) expect(words.length).toBeGreaterThan(20)
    expect(unchecked).toEqual(['mine'])
  })

  test('shows every rule of conduct that is on what it is for', async () => {
    const oracle = new OracleCheck(createFlowRunner)
    const off = Object.fromEntries(RULE_NAMES.map(name => [name, false]))
    const on = Object.fromEntries(OPTIONAL_RULE_NAMES.map(name => [name, true])) as InvariantSettings
    const { seen, unchecked } = await oracle.check({ ...off, ...on })
    expect(seen.map(({ invariant }) => invariant)).toEqual(OPTIONAL_RULE_NAMES)
    for (const { words } of seen) expect(words.length).toBeGreaterThan(20)
    expect(unchecked).toEqual([])
    expect((await oracle.check({ ...off, usesLists: true, backsOff: false })).seen).toMatchObject([
      { invariant: 'usesLists', words: expect.stringMatching(/^The client read 6 things one by one with getModel/) },
    ])
  })

  test('runs the careless client of rules of conduct only if one is on', async () => {
    const flows: string[] = []
    const oracle = new OracleCheck(flow => {
      flows.push(flow.name)
      return createFlowRunner(flow)
    })
    await oracle.check({ backsOff: false })
    expect(flows).toEqual(['careless deployment', 'careless batch'])
    await oracle.check({ backsOff: true })
    expect(flows).toEqual(['careless deployment', 'careless batch', 'careless conduct'])
  })

  test('names a rule of conduct that is on and saw nothing', async () => {
    const oracle = new OracleCheck(() => new FakeRunner(world => world.break('noLeak@createBatch/ok')))
    const off = Object.fromEntries(RULE_NAMES.map(name => [name, false])) as InvariantSettings
    await expect(oracle.check({ ...off, usesLists: true })).rejects.toThrow(
      'Failed to check the invariants: usesLists did not see what a careless client does wrong.',
    )
  })

  test('leaves out what is off, and runs its clients once', async () => {
    const runners: FakeRunner[] = []
    const oracle = new OracleCheck(() => {
      const runner = new FakeRunner(world => world.break('noLeak@createBatch/ok'))
      runners.push(runner)
      return runner
    })
    const off = Object.fromEntries(RULE_NAMES.map(name => [name, false])) as InvariantSettings
    expect(await oracle.check({ ...off, noLeak: true })).toEqual({
      seen: [{ invariant: 'noLeak', words: 'noLeak@createBatch/ok is broken' }],
      unchecked: [],
    })
    const runs = runners.reduce((sum, runner) => sum + runner.runs, 0)
    await oracle.check({ ...off, noLeak: true })
    expect(runners.reduce((sum, runner) => sum + runner.runs, 0)).toBe(runs)
    await expect(oracle.check({ ...off, settles: '1h', noDouble: true })).rejects.toThrow(
      'Failed to check the invariants: settles, noDouble did not see what a careless client does wrong.',
    )
  })
})

describe('settings of invariants', () => {
  const check = (settings: object) => () => assertInvariants(settings as InvariantSettings, 'Failed to explore deploys')

  test('are false, their value, or a function of the user', () => {
    expect(
      check({ settles: '2h', pollsAtMost: 0.5, spendsAtMost: 0, noLeak: true, noDouble: false, mine: () => undefined }),
    ).not.toThrow()
    expect(check({ settles: false, pollsAtMost: undefined })).not.toThrow()
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
