import { describe, expect, test } from 'vitest'
import type { Plan } from '../../../../src/workbench/explore/plan/plan.ts'
import { canonicalText, withContentName } from '../../../../src/workbench/explore/plan/plan.ts'
import { assertPlan } from '../../../../src/workbench/explore/plan/plan-form.ts'

const RESET = withContentName({ on: 'getDeployment', nth: 3, fault: { kind: 'reset' } })
const PLAN: Plan = [
  { fault: RESET },
  {
    command: { verb: 'node.crash', target: 'h100-0' },
    after: { kind: 'deployment.running', nth: 2, offset: '5s' },
    for: '60s',
    undo: { verb: 'node.repair', target: 'h100-0' },
  },
  { crash: 4 },
]

describe('a plan', () => {
  test('has one canonical form for every order of its items and fields', () => {
    const { name: _, on, nth, fault } = RESET
    const reordered: Plan = [
      { crash: 4 },
      {
        undo: { target: 'h100-0', verb: 'node.repair' },
        for: '60s',
        after: { offset: '5s', nth: 2, kind: 'deployment.running' },
        command: { target: 'h100-0', verb: 'node.crash' },
      },
      { fault: { fault, nth, on } as typeof RESET },
    ]
    expect(canonicalText(reordered)).toBe(canonicalText(PLAN))
    expect(canonicalText(PLAN.slice(1))).not.toBe(canonicalText(PLAN))
  })

  test('names its rules by their content alone', () => {
    expect(RESET.name).toMatch(/^getDeployment-3-reset-[0-9a-f]{8}$/)
    expect(withContentName({ fault: { kind: 'reset' }, nth: 3, on: 'getDeployment' }).name).toBe(RESET.name)
    expect(withContentName({ on: 'getDeployment', nth: 4, fault: { kind: 'reset' } }).name).not.toBe(RESET.name)
    expect(withContentName({ on: '*', nth: 1, fault: { kind: 'reset' } }).name).toMatch(/^any-1-reset-[0-9a-f]{8}$/)
  })
})

describe('a plan that people write', () => {
  test('passes with every kind of item, and after JSON', () => {
    for (const plan of [[], PLAN, JSON.parse(JSON.stringify(PLAN))]) expect(() => assertPlan(plan, 'x')).not.toThrow()
  })

  const start = { command: { verb: 'hub.down' }, after: { kind: 'start' } }

  test.each([
    [undefined, 'it has no plan. Give the list of faults that explore reports, as plan: […].'],
    [[{ crsh: 1 }], "plan[0].crsh: unknown item 'crsh'. Did you mean 'crash'?"],
    [[{ crash: 1 }, 7], 'plan[1]: an item of a plan must be a map. Items are fault, command, crash.'],
    [[{ crash: 1, fault: {} }], "plan[0].crash: one item has both 'fault' and 'crash'. Split it into two items."],
    [[{ crash: 1 }, { crash: 0 }], 'plan[1].crash: expected at least 1, got 0. Fix that value.'],
    [[{ fault: { on: 'listDeployments', fault: { kind: 'rest' } } }], 'plan[0].fault.fault.kind: expected one of'],
    [
      [{ ...start, command: { verb: 'node.crsh' } }],
      "plan[0].command.verb: unknown command 'node.crsh'. Did you mean 'node.crash'?",
    ],
    [
      [{ ...start, after: { kind: 'deployment.runing' } }],
      "plan[0].after.kind: unknown kind 'deployment.runing'. Did you mean 'deployment.running'?",
    ],
    [[{ ...start, after: { kind: 'x' } }], "plan[0].after.kind: unknown kind 'x'. 'start' is one."],
    [[{ ...start, after: undefined }], 'plan[0].after: expected an object, got nothing. Add that field.'],
    [[{ ...start, for: '1 year' }], 'plan[0].for: expected a duration'],
    [[{ ...start, for: '1m' }], "plan[0].for: 'for' needs 'undo'. Add undo, or remove for."],
  ])('is refused as %j', (plan, reason) => {
    const check = () => assertPlan(plan, "Failed to declare the scenario 'a'")
    expect(check).toThrow(TypeError)
    expect(check).toThrow(`Failed to declare the scenario 'a': ${reason}`)
  })
})
