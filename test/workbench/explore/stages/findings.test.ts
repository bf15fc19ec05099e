/** Which violations are findings, and which ones no client can prevent. */
import { expect, test } from 'vitest'
import type { Plan, PlanItem } from '../../../../src/workbench/explore/plan/plan.ts'
import { Findings } from '../../../../src/workbench/explore/stages/findings.ts'

const on = (nth: number, fault: Extract<PlanItem, { fault: unknown }>['fault']['fault']): PlanItem => ({
  fault: { on: '*', nth, fault },
})
const STALE = on(4, { kind: 'stale', lag: '30s', reads: 'all' })
const BUSY = on(2, { kind: 'status', status: 503 })
const FORBIDDEN = on(3, { kind: 'status', status: 403 })
const DONE = on(7, { kind: 'status', status: 503, effect: 'done' })

function found(...plans: Plan[]): { findings: number; surfaced: number } {
  const findings = new Findings()
  const violation = { invariant: 'noDouble', signature: 'noDouble@createBatch/crash', words: '', evidence: [] }
  const result = { broken: [{ ...violation, subject: undefined }], requests: [] }
  for (const plan of plans) findings.add(result as never, { stage: 'swarm', plan })
  return { findings: findings.all.length, surfaced: findings.surfaced.length }
}

test.each<[name: string, plan: Plan]>([
  ['two faults', [DONE, STALE]],
  ['four faults, as shrinking left them', [{ crash: 4 }, DONE, STALE, BUSY]],
  ['two crashes', [{ crash: 2 }, { crash: 4 }, STALE]],
  ['an answer that came too late', [on(3, { kind: 'latency', delay: '30s' }), STALE]],
  ['a body that came too late', [on(3, { kind: 'slowBody', bytesPerSecond: 50 }), STALE]],
])('a list that is old after an answer was lost excuses a client: %s', (_, plan) => {
  expect(found(plan)).toEqual({ findings: 0, surfaced: 1 })
})

test.each<[name: string, plan: Plan]>([
  ['after a lost answer', [DONE, FORBIDDEN]],
  ['after a crash', [{ crash: 3 }, DONE, FORBIDDEN]],
])('a client that may not look for what its create made is excused: %s', (_, plan) => {
  expect(found(plan)).toEqual({ findings: 0, surfaced: 1 })
})

test.each<[name: string, plan: Plan]>([
  ['it was refused, and no answer was lost', [BUSY, FORBIDDEN]],
  ['no list was old', [{ crash: 4 }, DONE, BUSY]],
  ['each answer said that nothing was done', [BUSY, STALE]],
])('a client is not excused if %s', (_, plan) => {
  expect(found(plan)).toEqual({ findings: 1, surfaced: 0 })
  expect(found([{ crash: 4 }, DONE, STALE, BUSY], plan)).toEqual({ findings: 1, surfaced: 0 })
})
