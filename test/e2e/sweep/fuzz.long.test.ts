/** `npm run sweep -- fuzz` sends 1,000,000 requests; here 13,000. */
import { expect, test } from 'vitest'
import { controlOperations } from '../../../src/server/control/index.ts'
import { operations } from '../../../src/service/index.ts'
import { fuzz } from '../../../tools/sweep/fuzz/fuzz.ts'
import { describeViolation } from '../../../tools/sweep/fuzz/violation-text.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 7)

test.each([
  { transport: 'process', requests: 8_000 },
  { transport: 'http', requests: 5_000 },
] as const)(
  'no law is violated when $requests random requests are sent over $transport',
  async options => {
    const { counts, violations } = await fuzz({ ...options, seed: SEED })
    expect(violations.map(describeViolation)).toEqual([])
    expect(Object.keys(counts).sort()).toEqual([...Object.keys(operations), ...Object.keys(controlOperations)].sort())
    const succeeded = Object.values(counts).filter(statuses => (statuses[200] ?? 0) > 0)
    expect(succeeded.length).toBeGreaterThan(0.8 * Object.keys(counts).length)
  },
  300_000,
)
