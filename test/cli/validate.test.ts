import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findGpu } from '../../src/cli/validate/comparison.ts'
import { compareRows, errorsByClass, publishedRows } from '../../src/cli/validate/rows.ts'
import { GPUS } from '../../src/data/gpu-specs.ts'
import { commanded } from './commanded.ts'

const ROW = {
  id: 'mine',
  metric: 'endToEnd',
  value: 2,
  setup: { parameters: 8e9, precision: 'bf16', gpu: 'NVIDIA H100 SXM', promptTokens: 500, outputTokens: 200, rate: 1 },
} as const

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'validate-command-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Prints the comparison of rows in a file. */
async function validated(rows: unknown) {
  const file = join(temporaryFolder(), 'rows.json')
  writeFileSync(file, JSON.stringify(rows))
  const { stdout, stderr } = await commanded(['validate', file, '--json'])
  return { rows: JSON.parse(stdout).rows, stderr }
}

describe('the published rows', () => {
  // Errors in percent. A refit may lower them, and nothing may raise one by more than a point.
  test.each([
    ['tuned, throughput, dense', 297, 5.2, 13.4],
    ['tuned, throughput, experts', 114, 5.2, 23.3],
    ['tuned, token time', 11, 8.7, 9.8],
    ['tuned, time to first token', 21, 16.5, 96.2],
    ['default, end to end', 34, 7.2, 18.3],
    ['default, token time', 37, 7.6, 29],
    ['default, time to first token', 33, 15.9, 50.6],
    ['default, throughput, dense', 12, 5.7, 19.2],
  ])('%s: %i rows keep their median of %d %% and p90 of %d %%', (name, rows, median, p90) => {
    const errors = errorsByClass(compareRows(publishedRows()).compared).find(one => one.name === name)!
    expect(errors.rows).toBe(rows)
    expect(100 * errors.median).toBeLessThan(median + 1)
    expect(100 * errors.p90).toBeLessThan(p90 + 1)
  })

  test('are compared without a file, by class and with the worst', async () => {
    const { stdout, stderr, code } = await commanded(['validate'])
    expect([stderr, code]).toEqual(['', 0])
    expect(stdout).toMatch(/tuned, throughput, dense +297 rows {2}median +5\.2 % {2}p90 +13 % {2}within 25 %: +96 %/)
    expect(stdout).toMatch(/Worst 10:\n(.+\n){10}$/)
  })
})

describe('rows of a file', () => {
  test('are printed with what the model says', async () => {
    const [row, ...others] = (await validated([ROW])).rows
    expect(others).toEqual([])
    expect(row).toMatchObject({ id: 'mine', metric: 'endToEnd', setup: ROW.setup, published: 2 })
    expect(row.model).toBeCloseTo(1.47, 1)
    expect(row.error).toBeCloseTo(2 / row.model - 1, 9)
  })

  test('may be in an object, without ids, with null for what is not known', async () => {
    const unknown = { active: null, layers: null, kvBytesPerToken: null, experts: null, gpus: null, concurrency: null }
    const { rows } = await validated({ rows: [{ ...ROW, id: undefined, setup: { ...ROW.setup, ...unknown } }] })
    expect(rows).toMatchObject([{ id: 'row 1', model: expect.closeTo(1.47, 1) }])
  })

  test('that cannot be computed are named, and the others are compared', async () => {
    const bad = [
      { ...ROW, id: 'gpu', setup: { ...ROW.setup, gpu: 'TPU' } },
      { ...ROW, id: 'answer', setup: { ...ROW.setup, outputTokens: 0 } },
      { ...ROW, id: 'metric', metric: 'speed' },
      { ...ROW, id: 'value', value: null },
      null,
    ]
    const { rows, stderr } = await validated([...bad, ROW])
    expect(rows.map(({ id }: { id: string }) => id)).toEqual(['mine'])
    expect(stderr).toContain("Failed to compare gpu: gpu 'TPU' is not known.")
    for (const id of ['answer', 'metric', 'value', 'row 5']) expect(stderr).toContain(`Failed to compare ${id}: `)
  })

  test('must be a list', async () => {
    const file = join(temporaryFolder(), 'rows.json')
    writeFileSync(file, '{}')
    expect((await commanded(['validate', file])).stderr).toContain(
      "it has no rows. Give a list, or an object with the list 'rows'.",
    )
    expect((await commanded(['validate', `${file}.no`])).stderr).toContain('the file or folder is missing')
  })
})

test.each([
  ['H100', 'H100-80GB'],
  ['NVIDIA H200', 'H200-141GB'],
  ['B200', 'B200-180GB'],
  ['RTX PRO 6000', 'RTXPRO6000-96GB'],
  ['RTX PRO 6000 Server', 'RTXPRO6000-96GB'],
  ['L40S', 'L40S-48GB'],
  ['L4', 'L4-24GB'],
  ['a100-sxm-80gb', 'A100-80GB'],
] as const)('%s is the GPU type %s', (name, type) => {
  expect(findGpu(name)).toBe(GPUS[type])
})
