import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  compareRow,
  engineOfSetUp,
  findGpu,
  type Metric,
  type PublishedRow,
} from '../../src/cli/validate/comparison.ts'
import { compareRows, errorsByClass, publishedRows, quantile } from '../../src/cli/validate/rows.ts'
import { calibrated, ENGINE_CLASSES } from '../../src/data/engine-classes.ts'
import { GPUS } from '../../src/data/gpu-specs.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { Chance, purpose } from '../../src/kernel/random.ts'
import { groupBy } from '../../src/lib/lists.ts'
import { InstanceEngine, throughputBand } from '../../src/simulation/load/engine.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { type TimedRequest, timesByEvents } from '../simulation/engine-events.ts'
import { commanded } from './commanded.ts'

const DRAW = purpose('test.hour')
const ROW = {
  id: 'mine',
  metric: 'endToEnd',
  value: 2,
  setup: { parameters: 8e9, precision: 'bf16', gpu: 'NVIDIA H100 SXM', promptTokens: 500, outputTokens: 200, rate: 1 },
} as const

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
  ])('%s: %i rows keep their median of %d %% and p90 of %d %%', { tags: 'slow' }, (name, rows, median, p90) => {
    const errors = errorsByClass(compareRows(publishedRows()).compared).find(one => one.name === name)!
    expect(errors.rows).toBe(rows)
    expect(100 * errors.median).toBeLessThan(median + 1)
    expect(100 * errors.p90).toBeLessThan(p90 + 1)
  })

  test('are counted by each band of throughput', () => {
    const ofThroughput = publishedRows().filter(({ metric }) => metric === 'outputTokensPerSecond')
    const { compared, problems } = compareRows(ofThroughput)
    expect(problems).toEqual([])
    const counted = errorsByClass(compared).map(({ rows }) => rows)
    const bands = groupBy(ofThroughput, ({ setup }) => throughputBand(engineOfSetUp(setup).workload)?.rows)
    const measured = [...bands].map(([rows, { length }]) => [rows, length] as const)
    expect(new Map(measured)).toEqual(new Map(counted.map(rows => [rows, rows])))
  })

  test('are compared without a file, by class and with the worst', { tags: 'slow' }, async () => {
    const { stdout, stderr, code } = await commanded(['validate'])
    expect([stderr, code]).toEqual(['', 0])
    expect(stdout).toMatch(/tuned, throughput, dense +297 rows {2}median +5\.2 % {2}p90 +13 % {2}within 25 %: +96 %/)
    expect(stdout).toMatch(/^Errors are factors less 1: 100 % is twice or half of the measurement\./)
    expect(stdout).toMatch(/Worst 10:\n(.+\n){10}$/)
  })
})

describe('a calibration', () => {
  test('refuses a row in milliseconds, and so does a comparison', async () => {
    const file = join(temporaryFolder(), 'ms.json')
    writeFileSync(file, JSON.stringify([{ ...ROW, id: 'ms', metric: 'timePerOutputToken', value: 12.5 }]))
    for (const args of [[file], ['--calibrate', file]]) {
      const { code, stdout, stderr } = await commanded(['validate', ...args])
      expect([code, stdout]).toEqual([args.length === 1 ? 1 : 2, ''])
      expect(stderr).toMatch(/ms: its value is 12\.5 and the model has 0\.0\d+; times are in seconds\. Correct/)
    }
  })

  /** An hour of a service whose engine is not as published, as rows of medians at each rate. */
  function hourOf(seed: number): PublishedRow[] {
    const setup = { ...ROW.setup, gpus: 1, maxBatch: 256, promptTokens: 800, outputTokens: 150 }
    const published = engineOfSetUp(setup)
    const other = { efficiency: 0.7, fixedTime: 1.8, serverTime: 3 }
    const constants = calibrated(ENGINE_CLASSES.default, other)
    const engine = new InstanceEngine({ ...published.workload, constants })
    return [0.2, 0.4, 0.6].flatMap(use => {
      const rate = use * engine.requestsPerSecond
      const chance = new Chance(`${seed}`)
      const key = chance.key('hour', `${use}`)
      let at = 0
      const arrivals = Array.from({ length: 2000 }, (_, i) => {
        at += chance.exponential(1 / rate, key, DRAW, i)
        return { at, prompt: setup.promptTokens, answer: setup.outputTokens }
      })
      const times = timesByEvents(arrivals, engine, 1)
      const median = (of: (time: TimedRequest) => number) =>
        quantile(
          times.map(of).sort((a, b) => a - b),
          0.5,
        )
      const row = (metric: Metric, value: number) => ({
        id: `${use} ${metric}`,
        metric,
        value,
        setup: { ...setup, rate },
      })
      return [
        row(
          'endToEnd',
          median(({ end }) => end),
        ),
        row(
          'timePerOutputToken',
          median(({ end, firstToken }) => (end - firstToken) / (setup.outputTokens - 1)),
        ),
        row(
          'timeToFirstToken',
          median(({ firstToken }) => firstToken),
        ),
      ]
    })
  }

  test('to an hour of a service gives the medians of its next hour within 15 %', { tags: 'slow' }, async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'hour.json'), JSON.stringify(hourOf(1)))
    const { stdout, stderr } = await commanded(['validate', '--calibrate', join(folder, 'hour.json')])
    writeFileSync(join(folder, 'mine.json'), stdout)
    const profile = join(folder, 'mine.json')
    expect(stderr).toMatch(/^default, token time: \d+ rows, median error \d\d+ % before, \d\.\d % with this profile$/m)
    writeFileSync(join(folder, 'next.json'), JSON.stringify(hourOf(2)))
    const next = await commanded(['validate', join(folder, 'next.json'), '--profile', profile, '--json'])
    const { rows } = JSON.parse(next.stdout) as { rows: { error: number }[] }
    expect(rows.every(({ error }) => error < 0.15)).toBe(true)
    expect(errorsByClass(hourOf(2).map(row => compareRow(row))).every(({ median }) => median > 0.2)).toBe(true)
    const constants = calibrated(ENGINE_CLASSES.default, loadProfile(profile).engine)
    for (const row of hourOf(2)) {
      expect(compareRow(row, constants).error).toBeLessThan(0.15)
    }
    const sim = createSimulator({ profile: profile as 'quick', with: { deployments: [{ model_name: 'acme/chat' }] } })
    expect(sim.world.deployments.read(sim.world.deployments.findLive('acme/chat')!.ordinal).plan.constants).toEqual(
      constants,
    )
  })

  test('is refused if its fit leaves the bounds of a profile', { tags: 'slow' }, async () => {
    const file = join(temporaryFolder(), 'rows.json')
    const direct = { parameters: 8.03e9, outputTokens: 200, direct: true }
    const first = { ...direct, gpu: 'H100', promptTokens: 10, rate: 0.01 }
    const rows = [
      { id: 'first', metric: 'timeToFirstToken', value: 0.0053, setup: first },
      { id: 'all', metric: 'outputTokensPerSecond', value: 39_000, setup: { ...direct, gpu: 'L4', promptTokens: 500 } },
    ]
    writeFileSync(file, JSON.stringify(rows))
    const { code, stdout, stderr } = await commanded(['validate', '--calibrate', file])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`Failed to calibrate with ${file}: a fitted value is not allowed in a profile: $.engine.`)
  })

  test('starts from the given profile, and names it in what it prints', { tags: 'slow' }, async () => {
    const [file, slow] = ['rows.json', 'slow.json'].map(name => join(temporaryFolder(), name)) as [string, string]
    writeFileSync(file, JSON.stringify([ROW]))
    const engine = { efficiency: { value: 0.5, source: 'a test' } }
    writeFileSync(slow, JSON.stringify({ extends: 'quick', engine }))
    const usual = await commanded(['validate', '--calibrate', file])
    const { code, stdout, stderr } = await commanded(['validate', '--calibrate', file, '--profile', slow])
    const [profile, ofUsual] = [stdout, usual.stdout].map(text => JSON.parse(text))
    expect([code, profile.extends, ofUsual.extends]).toEqual([0, slow, 'realistic'])
    expect(profile.engine).toEqual(ofUsual.engine)
    expect(stderr).not.toBe(usual.stderr)
    const unknown = await commanded(['validate', '--calibrate', file, '--profile', 'qick'])
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("Did you mean 'quick'?") })
  })

  test('needs rows that can be computed', async () => {
    const file = join(temporaryFolder(), 'rows.json')
    writeFileSync(file, JSON.stringify([{ ...ROW, setup: { ...ROW.setup, gpu: 'TPU' } }]))
    expect(await commanded(['validate', '--calibrate', file])).toMatchObject({
      ...{
        code: 2,
        stdout: '',
        stderr: expect.stringContaining("Failed to calibrate with mine: gpu 'TPU' is not known."),
      },
    })
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

  test.each([8.03e9, 8.2e9, 32.8e9, 8.1e9])('of a dense model of %d parameters need no active ones', parameters => {
    const setup = { ...ROW.setup, parameters }
    const figures = { layers: 32, hidden: 4096, kvBytesPerToken: 131_072 }
    for (const given of [setup, { ...setup, ...figures }]) {
      const { workload } = engineOfSetUp(given)
      expect(workload).toEqual(engineOfSetUp({ ...given, active: parameters }).workload)
      expect(throughputBand(workload)?.band).toBe(0.2)
    }
  })

  test('have no control characters in the terminal', async () => {
    const file = join(temporaryFolder(), 'rows.json')
    const red = { ...ROW, id: '\u001b[31mred', setup: { ...ROW.setup, model: '\u001b[32mg' } }
    writeFileSync(file, JSON.stringify([red, { ...red, value: 0 }]))
    const { stdout, stderr } = await commanded(['validate', file])
    expect(stdout).toContain('\\u001b[31mred')
    expect(stdout).toContain('\\u001b[32mg')
    expect(stderr).toContain('\\u001b[31mred')
    expect(`${stdout}${stderr}`).not.toContain('\u001b')
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

  test.each([
    ['a concurrency below 0', { concurrency: -5 }, '$.setup.concurrency: expected more than 0, got -5'],
    ['a rate of 0', { rate: 0 }, '$.setup.rate: '],
    ['no GPU', { gpus: 0 }, '$.setup.gpus: expected at least 1, got 0'],
    ['more GPUs than a node has', { gpus: 1e6 }, '$.setup.gpus: expected at most 16, got 1000000'],
    ['an unknown field', { promptToken: 5 }, "$.setup.promptToken: unknown field (did you mean 'promptTokens'?). "],
    ['an unknown format', { precision: 'zzz' }, "$.setup.precision: expected a format with its bits, such as 'fp8'"],
    ['a prefix longer than the prompt', { prefixTokens: 501 }, '$.setup.prefixTokens: expected at most promptTokens'],
    ['more active parameters than all', { active: 9e12 }, '$.setup.active: expected parameters × expertsPerToken'],
    [
      'fewer active parameters than those of its experts',
      { active: 1e9, experts: 8, expertsPerToken: 2 },
      '$.setup.active: expected parameters × expertsPerToken / experts to parameters, got 1000000000',
    ],
    [
      'more experts for a token than all',
      { experts: 8, expertsPerToken: 20 },
      '$.setup.expertsPerToken: expected at m',
    ],
    [
      'experts without active parameters',
      { experts: 8, expertsPerToken: 2 },
      '$.setup.active: expected the parameters of a token beside experts, got nothing',
    ],
    ['experts alone', { experts: 8 }, '$.setup.active: expected the parameters of a token beside experts, got nothing'],
    ['experts of a token alone', { expertsPerToken: 2 }, '$.setup.active: expected the parameters of a token'],
    ['weights that do not fit', { parameters: 8e13 }, 'the weights do not fit into 1 × H100'],
    ['two mistakes', { gpus: 0, rate: 0 }, '$.setup.gpus: expected at least 1, got 0; $.setup.rate: '],
    ['text for a number', { parameters: '8e9' }, "$.setup.parameters: expected a number, got '8e9'"],
    ['a number for text', { precision: 16 }, '$.setup.precision: expected a string, got 16'],
    ['far too many tokens', { promptTokens: 1e300 }, '$.setup.promptTokens: expected at most 100000000, got 1e+300'],
  ])('with %s are refused by field, also for a calibration', { tags: 'slow' }, async (_, changed, message) => {
    const file = join(temporaryFolder(), 'rows.json')
    const setup = { parameters: 8e9, gpu: 'H100', promptTokens: 500, outputTokens: 200, ...changed }
    writeFileSync(file, JSON.stringify([{ id: 'mine', setup, metric: 'outputTokensPerSecond', value: 9000 }]))
    const compared = await commanded(['validate', file])
    expect([compared.code, compared.stdout]).toEqual([1, ''])
    expect(compared.stderr).toContain(`Failed to compare mine: ${message}`)
    const calibrated = await commanded(['validate', '--calibrate', file])
    expect([calibrated.code, calibrated.stdout]).toEqual([2, ''])
    expect(calibrated.stderr).toContain(`Failed to calibrate with mine: ${message}`)
  })

  test.each([
    [{ concurrency: 4 }, '$.concurrency: unknown field (it belongs in $.setup). '],
    [{ sorce: 'x' }, "$.sorce: unknown field (did you mean 'source'?). "],
    [{ day: 1 }, '$.day: unknown field. '],
  ])('with %o beside the set-up are refused', async (field, message) => {
    const { stderr } = await validated([
      { ...ROW, ...field },
      { ...ROW, id: 7 },
      { ...ROW, id: 7 },
    ])
    expect(stderr).toBe(
      `Failed to compare mine: ${message}Correct that row.\n` +
        'Failed to compare 7: an earlier row has this id. Correct that row.\n',
    )
  })

  test('have different ids in a file, and may have those of another file', async () => {
    const file = join(temporaryFolder(), 'rows.json')
    writeFileSync(file, JSON.stringify([ROW, { ...ROW, value: 3 }, { ...ROW, id: undefined }]))
    const { stdout, stderr, code } = await commanded(['validate', file, file, '--json'])
    const ids = JSON.parse(stdout).rows.map(({ id }: { id: string }) => id)
    expect([code, ids]).toEqual([1, ['mine', 'row 3', 'mine', 'row 3']])
    expect(stderr).toBe('Failed to compare mine: an earlier row has this id. Correct that row.\n'.repeat(2))
  })

  test('must be a list', async () => {
    const file = join(temporaryFolder(), 'rows.json')
    writeFileSync(file, '{}')
    expect((await commanded(['validate', file])).stderr).toContain(
      "it has no rows. Give a list, or an object with the list 'rows'.",
    )
    expect((await commanded(['validate', `${file}.no`])).stderr).toContain('the file or folder is missing')
    writeFileSync(file, '[{"id": "mine", "id": "yours"}]')
    expect((await commanded(['validate', file])).stderr).toContain(
      `Failed to read '${file}': line 1, column 17: the key "id" is there twice. Fix the JSON there.`,
    )
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
