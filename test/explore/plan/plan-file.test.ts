import { describe, expect, test } from 'vitest'
import { canonicalText, planHash, withContentName } from '../../../src/explore/plan/canonical.ts'
import type { Plan } from '../../../src/explore/plan/plan.ts'
import { PlanFileError, readPlanFile, writePlanFile } from '../../../src/explore/plan/plan-file.ts'

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
    expect(planHash(reordered)).toBe(planHash(PLAN))
    expect(planHash(PLAN.slice(1))).not.toBe(planHash(PLAN))
  })

  test('names its rules by their content alone', () => {
    expect(RESET.name).toMatch(/^getDeployment-3-reset-[0-9a-f]{8}$/)
    expect(withContentName({ fault: { kind: 'reset' }, nth: 3, on: 'getDeployment' }).name).toBe(RESET.name)
    expect(withContentName({ on: 'getDeployment', nth: 4, fault: { kind: 'reset' } }).name).not.toBe(RESET.name)
    expect(withContentName({ on: '*', nth: 1, fault: { kind: 'reset' } }).name).toMatch(/^any-1-reset-[0-9a-f]{8}$/)
  })
})

describe('a plan file', () => {
  test('has the plan and the name of the flow', () => {
    expect(readPlanFile(writePlanFile({ plan: PLAN, flow: 'deploys' }), 'p.json')).toEqual({
      plan: PLAN,
      flow: 'deploys',
    })
    expect(readPlanFile(writePlanFile({ plan: [], flow: undefined }), 'p.json').plan).toEqual([])
  })

  const file = (...plan: unknown[]) => JSON.stringify({ planVersion: 1, plan })

  test.each([
    ['{', 'line 1, column 2: expected a field name in double quotes, got the end of the file. Write it as JSON.'],
    ['[]', 'it has no planVersion. Give a file that explore wrote.'],
    [
      '{"planVersion": 2, "plan": []}',
      'it has version 2, and this version of modelhost-sim reads 1. Use the version that wrote it, or explore the flow again.',
    ],
    ['{"planVersion": 1, "plan": [], "flows": 1}', "unknown field 'flows'. Fields are planVersion, flow and plan."],
    ['{"planVersion": 1, "plan": [], "flow": 1}', '$.flow: expected a string. Fix that value.'],
    ['{"planVersion": 1}', '$.plan: expected an array. Add the items of the plan.'],
    [file({ crsh: 1 }), '$.plan[0]: expected an object with fault, command, crash. Fix that item.'],
    [file({ crash: 1 }, { crash: 0 }), '$.plan[1].crash: expected at least 1, got 0. Fix that value.'],
    [
      file({ fault: { on: 'listDeployments', fault: { kind: 'rest' } } }),
      '$.plan[0].fault.fault.kind: expected one of',
    ],
    [
      file({ command: { verb: 'node.crsh' }, after: { kind: 'start' } }),
      "$.plan[0].command.verb: unknown command 'node.crsh'. Did you mean 'node.crash'?",
    ],
    [
      file({ command: { verb: 'hub.down' }, after: { kind: 'deployment.runing' } }),
      "$.plan[0].after.kind: unknown kind 'deployment.runing'. Did you mean 'deployment.running'?",
    ],
    [
      file({ command: { verb: 'hub.down' }, after: { kind: 'start' }, for: '1 year' }),
      '$.plan[0].for: expected a duration',
    ],
  ])('is refused as %s', (text, reason) => {
    const read = () => readPlanFile(text, 'p.json')
    expect(read).toThrow(PlanFileError)
    expect(read).toThrow(`Failed to read the plan p.json: ${reason}`)
  })
})
