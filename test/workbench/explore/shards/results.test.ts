/** Results files: they grow line by line, survive their process, and are joined. */

import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { merge } from '../../../../src/cli/commands/merge.ts'
import { mergeResults } from '../../../../src/workbench/explore/shards/merge.ts'
import { playShard, type RunnableTest, type SeedOutcome } from '../../../../src/workbench/explore/shards/play-shard.ts'
import {
  RESULTS_FORMAT,
  ResultsFile,
  type ResultsHeader,
  type TestSeed,
} from '../../../../src/workbench/explore/shards/results.ts'
import { commandOutput } from '../../../cli/command-output.ts'
import { forAllAsync } from '../../../setup/for-all.ts'
import { temporaryFolder } from '../../../setup/temporary-folder.ts'
import { wall } from '../../../setup/wall-clock.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
const RANGE = { from: 1, to: 60 }

/** Fails with every seventh seed. The plan of a finding is shrunk only once in a shard, to a size that the seed gives. */
function outcomeOf(seed: TestSeed, isKnown: (signature: string) => boolean): SeedOutcome {
  const number = Number(seed)
  const signature = number % 2 === 0 ? 'noLeak@create/silence' : 'settles@poll/silence'
  const plan = isKnown(signature) ? undefined : Array.from({ length: 1 + (number % 5) }, (_, i) => ({ crash: i }))
  const findings = [{ signature, words: `seed ${seed} leaks`, ...(plan && { plan }) }]
  return {
    digest: `digest of ${seed}`,
    findings: number % 7 === 0 ? findings : [],
  }
}

class FakeTest implements RunnableTest {
  readonly name = 'flow.ts'
  readonly hash: string
  readonly played: TestSeed[] = []
  readonly outcome: typeof outcomeOf

  constructor(outcome = outcomeOf, hash = 'f00d') {
    this.outcome = outcome
    this.hash = hash
  }

  async run(seed: TestSeed, isKnown: (signature: string) => boolean): Promise<SeedOutcome> {
    this.played.push(seed)
    return this.outcome(seed, isKnown)
  }
}

function headerOf(client: FakeTest, shard: string, changed: Partial<ResultsHeader> = {}): ResultsHeader {
  const { name, hash } = client
  const seeds = '1..60'
  const fixed = { format: RESULTS_FORMAT, version: '1.0.0', command: 'explore', config: 'c0', node: 'v20' } as const
  return { ...fixed, tests: [{ name, hash }], seeds, shard, ...changed }
}

interface Played {
  readonly client?: FakeTest
  readonly index?: number
  readonly count?: number
  readonly out?: string
  readonly signal?: AbortSignal
  readonly header?: Partial<ResultsHeader>
}

/** Runs a shard as a new process does. */
async function play({ client = new FakeTest(), index = 1, count = 1, out = folder, signal, header }: Played = {}) {
  const file = new ResultsFile(out, headerOf(client, `${index}/${count}`, header))
  try {
    const left = await playShard([client], RANGE, { index, count }, file, { signal })
    return { path: file.path, played: client.played, left }
  } finally {
    file.close()
  }
}

const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n')

test('a file has a header and a line for each run, and shrinks a finding once', async () => {
  const { path } = await play()
  const lines = linesOf(path).map(line => JSON.parse(line))
  expect(lines[0]).toMatchObject({
    format: 1,
    seeds: '1..60',
    shard: '1/1',
    tests: [{ name: 'flow.ts', hash: 'f00d' }],
  })
  expect(lines[1]).toEqual({ test: 'f00d', seed: 1, digest: 'digest of 1' })
  expect(lines[7]).toMatchObject({ seed: 7, findings: [{ signature: 'settles@poll/silence' }] })
  expect(lines.filter(line => line.findings?.[0].plan)).toHaveLength(2)
})

describe('the same command again', () => {
  test('runs nothing if all is done', async () => {
    await play()
    expect((await play()).played).toEqual([])
  })

  test('continues after a process that was killed at any byte, and comes to the same results', async () => {
    const { path } = await play()
    const bytes = readFileSync(path)
    const whole = mergeResults([path])
    await forAllAsync([fc.nat(bytes.length)], { numRuns: Number(process.env.INVARIANT_RUNS ?? 6) }, async length => {
      writeFileSync(path, bytes)
      truncateSync(path, length)
      const done = linesOf(path).filter(line => line.includes('seed"') && line.endsWith('}'))
      const { played, left } = await play()
      expect(left).toBe(0)
      expect(played.length).toBeGreaterThanOrEqual(60 - done.length)
      const report = mergeResults([path])
      expect(report.digest).toBe(whole.digest)
      expect(report.missing).toBe(0)
      expect(linesOf(path).every(line => JSON.parse(line))).toBe(true)
    })
  })

  test('runs the seed again during which a process ended', async () => {
    await expect(
      play({ client: new FakeTest((seed, isKnown) => (seed === 5 ? die() : outcomeOf(seed, isKnown))) }),
    ).rejects.toThrow('killed')
    expect(mergeResults([join(folder, 'results-1.ndjson')]).incomplete).toEqual([
      { shard: '1/1', hasFile: true, runs: 56, test: 'flow.ts', seed: 5 },
    ])
    expect((await play()).played.slice(0, 2)).toEqual([5, 6])
  })

  test.each<[change: Partial<ResultsHeader>, message: string]>([
    [{ version: '2.0.0' }, 'it is of other work (version: 1.0.0 and 2.0.0). Give another folder with --out'],
    [{ commit: 'abc' }, 'commit: unknown and abc'],
    [{ config: 'c1' }, 'config: c0 and c1'],
    [{ seeds: '1..9' }, 'seeds: 1..60 and 1..9'],
    [{ shard: '1/2' }, 'shard: 1/1 and 1/2'],
    [{ tests: [{ name: 'flow.ts', hash: 'beef' }] }, 'tests: flow.ts (f00d) and flow.ts (beef)'],
  ])('refuses the file of other work: %j', { tags: 'slow' }, async (header, message) => {
    const { path } = await play()
    const before = readFileSync(path)
    await expect(play({ header })).rejects.toThrow(message)
    expect(readFileSync(path)).toEqual(before)
  })

  test('continues the file of another Node', async () => {
    await play()
    expect((await play({ header: { node: 'v24' } })).left).toBe(0)
  })

  test('refuses a file that is damaged in the middle, and one that is not a results file', async () => {
    const { path } = await play()
    const lines = linesOf(path)
    lines[7] = lines[7]!.slice(0, 20)
    writeFileSync(path, `${lines.join('\n')}\n`)
    await expect(play()).rejects.toThrow('line 8 is not a result. Remove that line, or the file.')
    writeFileSync(path, 'hello\n')
    await expect(play()).rejects.toThrow('it is not a results file of format 1. Give files of --out.')
    writeFileSync(path, '{"format":9}\n')
    await expect(play()).rejects.toThrow('it is not a results file of format 1.')
  })
})

describe('the lock of a file', () => {
  const lockOf = (lock: object) => writeFileSync(join(folder, 'results-1.ndjson.lock'), JSON.stringify(lock))
  const open = () => new ResultsFile(folder, headerOf(new FakeTest(), '1/1'))
  /** A process of this machine that has ended. */
  const endedPid = () => spawnSync(process.execPath, ['-e', '']).pid

  test('refuses a second process, and names the first', () => {
    const first = open()
    expect(() => open()).toThrow(
      `Failed to write ${first.path}: process ${process.pid} on ${hostname()} writes to it. Wait until it ends, or end it.`,
    )
    first.close()
    open().close()
    expect(existsSync(`${first.path}.lock`)).toBe(false)
  })

  test('is taken over if its process has ended on this machine', { tags: 'slow' }, async () => {
    await play()
    lockOf({ pid: endedPid(), host: hostname() })
    expect((await play()).played).toEqual([])
    expect(existsSync(join(folder, 'results-1.ndjson.lock'))).toBe(false)
  })

  test.skipIf(process.platform !== 'linux')('is taken over if another process has its number now', () => {
    lockOf({ pid: process.ppid, host: hostname(), started: '1' })
    open().close()
  })

  test('of another machine is refused, and the error says what to delete', { tags: 'slow' }, () => {
    lockOf({ pid: endedPid(), host: 'node-7' })
    expect(() => open()).toThrow(/: process \d+ on node-7 writes to it\. If it has ended, delete .*ndjson\.lock\.$/)
    expect(existsSync(join(folder, 'results-1.ndjson'))).toBe(false)
  })

  test('that cannot be read is refused', () => {
    lockOf({})
    expect(() => open()).toThrow(/: its lock cannot be read\. If no process writes to it, delete .*\.lock\.$/)
  })

  test('is released if the file is of other work', async () => {
    await play()
    await expect(play({ header: { version: '2.0.0' } })).rejects.toThrow('it is of other work')
    open().close()
  })
})

test('a signal stops a shard after the current run', async () => {
  const stop = new AbortController()
  const client = new FakeTest((seed, isKnown) => {
    if (seed === 3) stop.abort()
    return outcomeOf(seed, isKnown)
  })
  expect(await play({ client, signal: stop.signal })).toMatchObject({ left: 57, played: [1, 2, 3] })
})

test('a folder that cannot be made is refused', async () => {
  writeFileSync(join(folder, 'file'), '')
  await expect(play({ out: join(folder, 'file', 'out') })).rejects.toThrow(
    /^Failed to write .*results-1\.ndjson: its parent is not a folder\. /,
  )
})

describe('merge', () => {
  const shards = (count: number, out = folder) =>
    Promise.all(Array.from({ length: count }, (_, i) => play({ index: i + 1, count, out }))).then(all =>
      all.map(({ path }) => path),
    )

  test('a file that is given twice counts once', async () => {
    const { path } = await play()
    const { written, output } = commandOutput()
    await merge({ files: [path, folder], json: true, known: undefined }, output, folder)
    expect(JSON.parse(written.out)).toMatchObject({ files: 1, runs: 60, repeated: 0 })
  })

  test('counts the runs that found something as runs', async () => {
    await play()
    const { written, output } = commandOutput()
    await merge({ files: [folder], json: false, known: undefined }, output, folder)
    expect(written.out).toMatch(/^60 runs of .*\n(.*\n)*\d+ findings? in 8 runs\n/)
  })

  test('shows its progress on a terminal, and removes it before the report', async () => {
    await shards(3)
    wall.now = 0
    const shown: string[] = []
    const io = {
      out: () => void shown.push('report'),
      error: (text: string) => void shown.push(text),
      // It is asked before each text, so reading a file takes three seconds here.
      get isTerminal() {
        wall.now! += 3000
        return true
      },
    }
    await merge({ files: [folder], json: true, known: undefined }, io, folder)
    expect(shown[0]).toMatch(/^\r\[#{20}\.{10}\] 2 of 3 files read, about \d+ s left/)
    expect(shown.slice(-2)).toEqual(['\r\u001b[K', 'report'])
  })

  test('any division into shards gives what one process gives', async () => {
    const { path } = await play()
    const { files: _, ...whole } = mergeResults([path])
    expect(whole).toMatchObject({ expected: 60, runs: 60, failed: 8, missing: 0, repeated: 0, differing: [] })
    await forAllAsync(
      [fc.integer({ min: 2, max: 12 })],
      { numRuns: Number(process.env.INVARIANT_RUNS ?? 3) },
      async count => {
        const out = mkdtempSync(join(folder, 'division-'))
        const { files, ...report } = mergeResults((await shards(count, out)).reverse())
        expect(files).toBe(count)
        expect(withoutPlans(report)).toEqual(withoutPlans(whole))
      },
    )
    function withoutPlans(report: Omit<ReturnType<typeof mergeResults>, 'files'>) {
      return { ...report, findings: report.findings.map(({ plan: _, words: __, ...rest }) => rest) }
    }
  })

  test('a signature has its count, its first seed, and the smallest plan of all shards with its words', async () => {
    const { findings } = mergeResults(await shards(3))
    // Seeds 14, 28, 42 and 56. Shard 2 shrinks 14 to five faults, shard 1 28 to four, shard 3 42 to three.
    expect(findings[0]).toMatchObject({
      signature: 'noLeak@create/silence',
      count: 4,
      firstSeed: 14,
      words: 'seed 42 leaks',
    })
    expect(findings[0]!.plan).toHaveLength(3)
  })

  test('a shard without a file is reported with its first run', async () => {
    const paths = await shards(8)
    const report = mergeResults(paths.filter(path => !path.endsWith('-3.ndjson')))
    expect(report).toMatchObject({ expected: 60, runs: 52, missing: 8 })
    expect(report.incomplete).toEqual([{ shard: '3/8', hasFile: false, runs: 8, test: 'flow.ts', seed: 3 }])
  })

  test('the same seed with another digest is named with its files', async () => {
    const here = (await play()).path
    const other = join(folder, 'other')
    const client = new FakeTest((seed, isKnown) => ({
      ...outcomeOf(seed, isKnown),
      ...(seed === 9 && { digest: 'x' }),
    }))
    const there = (await play({ client, out: other, header: { node: 'v24' } })).path
    expect(mergeResults([here, there])).toMatchObject({
      runs: 60,
      repeated: 60,
      missing: 0,
      differing: [
        {
          test: 'flow.ts',
          seed: 9,
          results: [
            { digest: 'digest of 9', file: here, node: 'v20' },
            { digest: 'x', file: there, node: 'v24' },
          ],
        },
      ],
    })
  })

  test('files of another flow are refused', async () => {
    const here = (await play()).path
    const there = (await play({ client: new FakeTest(outcomeOf, 'beef'), index: 2, count: 2 })).path
    expect(() => mergeResults([here, there])).toThrow(
      'they are of other work (tests: flow.ts (f00d) and flow.ts (beef))',
    )
  })

  test('a cut last line is a missing seed, and a damaged file is refused', async () => {
    const { path } = await play()
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.slice(0, -10))
    expect(mergeResults([path]).incomplete).toMatchObject([{ hasFile: true, runs: 1, seed: 60 }])
    appendFileSync(path, '\nrest\n')
    expect(() => mergeResults([path])).toThrow(
      /^Failed to read .*: line 61 is not a result\. Remove that line, or the file\.$/,
    )
    expect(() => mergeResults([join(folder, 'none')])).toThrow('the file or folder is missing. Give files of --out.')
    writeFileSync(path, '')
    expect(() => mergeResults([path])).toThrow('it has no whole line. Run that shard again.')
  })

  test('files of different versions are refused', async () => {
    const here = (await play()).path
    const there = (await play({ index: 2, count: 2, header: { version: '2.0.0' } })).path
    expect(() => mergeResults([here, there])).toThrow(
      'they are of other work (version: 1.0.0 and 2.0.0). Merge files of one run.',
    )
    expect(existsSync(there)).toBe(true)
  })
})

function die(): never {
  throw new Error('killed')
}
