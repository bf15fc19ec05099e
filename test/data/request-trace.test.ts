import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { compileLoad, OfferedLoad, parseLoadTrace, tracePeriod } from '../../src/data/offered-load.ts'
import { isRequestTrace, readRequestTrace } from '../../src/data/request-trace.ts'
import { micros } from '../../src/kernel/duration.ts'
import { commanded } from '../cli/commanded.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'
import { curveOf } from '../simulation/any-load.ts'

/** Three requests, the last 20 s after the first. */
const CSV = `TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,400,10
2023-11-16 18:17:04.0319600,200,20
2023-11-16 18:17:23.9799600,600,30
`
const JSONL = `{"timestamp": 27000, "input_length": 400, "output_length": 10, "hash_ids": [1, 2]}
{"timestamp": 27500, "input_length": 200, "output_length": 20, "hash_ids": [1, 3]}
{"timestamp": 47000, "input_length": 600, "output_length": 30, "hash_ids": [1, 2]}
`

/** Returns the folder of a fixture whose deployment has the load of a trace. */
function folderWith(trace: string, options: object): string {
  const folder = temporaryFolder()
  const deployments = [{ model_name: 'acme/chat', status: 'running', load: { trace: 'requests.csv', ...options } }]
  const { account, nodes } = loadFixture('two-nodes')
  for (const [name, content] of Object.entries({ account, nodes, deployments }))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(content))
  writeFileSync(join(folder, 'requests.csv'), trace)
  return folder
}

describe('a trace of requests', () => {
  test('has the rates of each 10 s, the means of its lengths, and how its requests come together', () => {
    const trace = readRequestTrace(CSV)
    expect(trace.text).toBe('0,0.2\n10,0\n20,0.1\n30,0')
    expect(trace).toMatchObject({ prompt_tokens: 400, output_tokens: 20, burstiness: 1 })
    expect(trace.prompt_spread).toBeCloseTo(1 / 6, 9)
    expect(trace.cached_share).toBeUndefined()
  })

  test('is the same in JSON lines, whose hashes say how much of the prompts was known', () => {
    const { cached_share, ...trace } = readRequestTrace(JSONL)
    expect(trace).toEqual(readRequestTrace(CSV))
    expect(cached_share).toBeCloseTo(3 / 6, 9)
  })

  test('has milliseconds in JSON, also in a text of digits', () => {
    expect(readRequestTrace(JSONL.replaceAll(/(?<="timestamp": )\d+/g, '"$&"'))).toEqual(readRequestTrace(JSONL))
  })

  test('has times of one day in each time zone, in UTC without one', () => {
    const rows = ['2026-03-02T09:00:00', '2026-03-02T10:00:10+01:00', '2026-03-02 09:00:20 UTC']
    const text = `time,input_tokens,output_tokens\n${rows.map(row => `${row},1,1`).join('\n')}`
    expect(readRequestTrace(text).text).toBe('0,0.1\n10,0.1\n20,0.1\n30,0')
  })

  test('of independent requests has a burstiness near 1, of requests in fours one near 4', () => {
    const times = (together: number) =>
      Array.from({ length: 4000 }, (_, i) => {
        const draw = Math.abs(Math.sin(Math.floor(i / together) * 12.9898) * 43_758.5453) % 1
        return `${draw * 3600},100,10`
      })
    const burstinessOf = (together: number) =>
      readRequestTrace(`Timestamp,Request tokens,Response tokens\n${times(together).join('\n')}`).burstiness
    expect(burstinessOf(1)).toBeCloseTo(1, 0)
    expect(burstinessOf(4)).toBeGreaterThan(3)
    expect(burstinessOf(4)).toBeLessThan(5)
  })

  test('costs no more for the time between its requests', () => {
    const [days, seconds] = [300, 300 * 86_400]
    const text = `Timestamp,Request tokens,Response tokens\n0,100,10\n${seconds},300,10`
    const zeros = `0,0.1\n10,0\n${seconds - 10},0\n${seconds},0.1`
    expect(readRequestTrace(text)).toMatchObject({ text: `${zeros}\n${seconds + 10},0`, burstiness: 1 })
    expect(readRequestTrace(text, { isRepeated: true }).text).toBe(zeros)
    const load = { kind: 'trace', text: text.replace(String(seconds), String(seconds * days)) }
    expect(OfferedLoad.safeParse(load).error!.issues[0]!.message).toContain('at most 10 years')
  })

  test('may have several columns of one other name', () => {
    expect(readRequestTrace('time,input_tokens,output_tokens,note,note\n0,1,1,a,b').text).toBe('0,0.1\n10,0')
  })

  test('differs from a trace of rates', () => {
    expect([CSV, JSONL, 'seconds,rps\n0,5', '0,5\n60,8'].map(isRequestTrace)).toEqual([true, true, false, false])
  })

  test('of rates with dates in place of seconds names the columns of requests', () => {
    const { error } = OfferedLoad.safeParse({ kind: 'trace', text: 'arrival,in,out\n2026-03-02T09:00:00,8,2' })
    expect(error!.issues[0]!.message).toContain(
      'line 2: expected a number of seconds, or before requests a header with timestamp or time or arrived_at',
    )
  })

  test.each([
    [
      'TIMESTAMP,ContextTokens\n0,1',
      'line 1: its header needs timestamp or time or arrived_at or arrival_time, prompt_tokens or input_tokens or ',
    ],
    ['time,in,Output Tokens\n0,1,2', 'line 1: its header needs timestamp or time'],
    [
      'TIMESTAMP,ContextTokens,GeneratedTokens\nnoon,1,2',
      'line 2: the time (timestamp or time or arrived_at or arrival_time): expected a number from 0, or a date as in ' +
        "2026-03-02T09:00:00, got 'noon'",
    ],
    ['[{"timestamp": 0, "input_length": 2, "output_length": 2}]', 'it is a JSON array. Give JSON lines: each object'],
    ['[\n  {', 'it is a JSON array. Give JSON lines: each object on its own line, without [ ] and commas'],
    [
      '{"timestamp": 0, "input_length": null, "output_length": 2}',
      'line 1: the tokens of the prompt (prompt_tokens or input_tokens or context_tokens or request_tokens or ',
    ],
    ['{"timestamp": 1, "input_length": 2}', 'line 1: the tokens of the answer'],
    ['{"timestamp"', 'line 1: it is not a JSON object'],
    [
      '{"timestamp": 0, "timestamp": 9, "input_length": 2, "output_length": 2}',
      'line 1: the key "timestamp" is there twice',
    ],
    ['{"time": 0, "input_length": 2, "output_length": 2, "Time": 9}', "line 1: the column 'Time' is there twice"],
    ['Time,input_tokens,output_tokens,time\n0,1,1,9', "line 1: the column 'time' is there twice"],
    ['timestamp,time,input_tokens,output_tokens\n0,9,1,1', "line 1: 'timestamp' and 'time' mean the same"],
    ['{"time": 0, "arrived_at": 2, "input_length": 2}', "line 1: 'time' and 'arrived_at' mean the same"],
    [
      'time,input_tokens,output_tokens\n2026-03-02 09:00:01,1,1\n\n7,1,1',
      'line 4: its time is a number of seconds, and that of line 2 is a date. Write all in one form',
    ],
    [
      '{"time": 0, "input_length": 2, "output_length": 2}\n{"time": "2026-03-02T09:00:01Z", "input_length": 2, "output_length": 2}',
      'line 2: its time is a date, and that of line 1 is a number of milliseconds. Write all in one form',
    ],
  ])('%j is refused', (text, message) => {
    expect(() => readRequestTrace(text)).toThrow(message)
    expect(OfferedLoad.safeParse({ kind: 'trace', text }).success).toBe(false)
  })

  test.each([
    ...['0,,10', '0,-1,10', '0,1000001,10'].map(row => [row, 'tokens of the prompt']),
    ...['0,100, ', '0,100', '0,10,1e12'].map(row => [row, 'tokens of the answer']),
    ...[',100,10', '-5,100,10', '2026-13-02 09:00:01,1,1', '2026-03-02 25:00:00,1,1'].map(row => [row, 'time']),
    ...['2026-02-30T09:10:00,1,1', '2026-03-02T09:60:00.5Z,1,1', '02/03/2026 09:00:00,1,1'].map(row => [row, 'time']),
  ])('with the row %j is refused, and the %s named', (row, cell) => {
    const text = `time,input_tokens,output_tokens\n${row}`
    expect(() => readRequestTrace(text)).toThrow(`line 2: the ${cell} (`)
  })

  test('of CSV has smaller units since 1970 where seconds would be thousands of years', () => {
    const text = (unit: number) =>
      `time,input_tokens,output_tokens\n${[0, 1, 20].map(at => `${(1_772_442_000 + at) * unit},1,1`).join('\n')}`
    for (const unit of [1e3, 1e6, 1e9]) expect(readRequestTrace(text(unit))).toEqual(readRequestTrace(text(1)))
    expect(readRequestTrace(text(1)).text).toBe('0,0.2\n10,0\n20,0.1\n30,0')
  })

  test('of JSON has seconds since 1970 where milliseconds would be days', () => {
    const text = (first: number, unit: number) =>
      [0, 1, 20].map(at => `{"time": ${(first + at) * unit}, "input_length": 1, "output_length": 1}`).join('\n')
    expect(readRequestTrace(text(1_772_442_000, 1))).toEqual(readRequestTrace(text(0, 1000)))
    for (const unit of [1e3, 1e6, 1e9])
      expect(readRequestTrace(text(1_772_442_000, unit))).toEqual(readRequestTrace(text(0, 1000)))
    // A trace of weeks that begins at 0 has milliseconds of ten digits.
    const { text: rates } = readRequestTrace(`${text(0, 1000)}\n${text(1_500_000, 1000)}`)
    expect(rates.split('\n').at(-1)).toBe('1500030,0')
    expect(() => readRequestTrace(`${text(1_772_442_000, 1)}\n${text(1_772_442_000, 1000)}`)).toThrow(
      'line 4: its time is a number of milliseconds, and that of line 1 is a number of seconds. Write all in one form',
    )
  })

  test('may have any line ends, exponents, and line breaks in the cells of CSV', () => {
    for (const end of ['\r', '\r\n']) {
      for (const text of [CSV, JSONL]) {
        expect(isRequestTrace(text.replaceAll('\n', end))).toBe(true)
        expect(readRequestTrace(text.replaceAll('\n', end))).toEqual(readRequestTrace(text))
      }
    }
    const rows = (...times: string[]) =>
      `time,input_tokens,output_tokens\n${times.map(time => `${time},1,1`).join('\n')}`
    expect(readRequestTrace(rows('1e-05', '2.7e-01', '1.2E+01'))).toEqual(readRequestTrace(rows('0', '.27', '12')))
    const prompts = ['"Say ""no"",\nthen\r\n\n"', '5" pipe', '"a"']
    const lines = CSV.trim().split('\n')
    const withPrompts = [`prompt,${lines[0]}`, ...prompts.map((prompt, i) => `${prompt},${lines[i + 1]}`)].join('\n')
    expect(readRequestTrace(withPrompts)).toEqual(readRequestTrace(CSV))
    expect(() => readRequestTrace(`${withPrompts}\nx,noon,0,1`)).toThrow('line 8: the time')
    expect(() => readRequestTrace(`${CSV}"0,1,1\n1,1,1`)).toThrow('line 5: the time')
    expect(parseLoadTrace('0,5,"a\nb"\r60,8').map(({ rps }) => rps)).toEqual([5, 8])
  })

  test('of CSV can have quotes around each cell, also with commas and quotes in it', () => {
    const lines = CSV.trim().split('\n')
    const quoted = lines.map(line => `"a, ""b""", "${line.replaceAll(',', '","')}"`).join('\n')
    expect(readRequestTrace(quoted)).toEqual(readRequestTrace(CSV))
    expect(isRequestTrace(quoted)).toBe(true)
    expect(() => readRequestTrace(`${CSV}0,"1,000",10`)).toThrow('line 5: the tokens of the prompt (')
  })

  test.each(['null', '""', 'true', '[]'])('of JSON with %s in place of tokens is refused', cell => {
    const text = `{"timestamp": 1, "input_length": ${cell}, "output_length": 2}`
    expect(() => readRequestTrace(text)).toThrow('line 1: the tokens of the prompt (')
  })
})

describe('a load from a trace', () => {
  test('is cut and scaled, from requests and from rates', () => {
    const cut = { skip: '10s', length: '15s', scale: 3 } as const
    const load = compileLoad(OfferedLoad.parse({ kind: 'trace', text: CSV, ...cut }))
    expect(load).toEqual({
      ...{ kind: 'trace', repeat: false, text: '0,0\n10,0.30000000000000004\n20,0' },
      ...{ prompt_tokens: 600, output_tokens: 30, burstiness: 1, prompt_spread: 0 },
    })
    expect(OfferedLoad.parse(load)).toEqual(load)
    const rates = compileLoad(OfferedLoad.parse({ kind: 'trace', text: '0,5\n8,6\n12,7\n40,8', ...cut }))
    expect(rates).toMatchObject({ text: '0,18\n2,21\n15,0', prompt_tokens: 500 })
    const late = compileLoad(OfferedLoad.parse({ kind: 'trace', text: '100,5\n200,6', length: '50s' }))
    expect(late).toMatchObject({ text: '0,0\n50,0' })
    const repeated = { kind: 'trace', text: '0,5\n8,6\n12,7\n40,8', ...cut, repeat: true }
    const { text } = compileLoad(OfferedLoad.parse(repeated)) as { text: string }
    expect([text, tracePeriod(parseLoadTrace(text))]).toEqual(['0,18\n2,21\n8.5,21', 15_000_000])
    const whole = compileLoad(OfferedLoad.parse({ ...repeated, length: undefined }))
    expect(whole).toMatchObject({ text: '0,18\n2,21\n30,24' })
  })

  test('is refused if no request is left of it, or if its rates are too high', () => {
    const problemOf = (load: object) => OfferedLoad.safeParse({ kind: 'trace', ...load }).error!.issues[0]!.message
    expect(problemOf({ text: CSV, skip: '1h' })).toBe('lines of requests (it has no request in this span)')
    const noRate = "lines of 'seconds,requests/s' (it has no rate in this span)"
    expect(problemOf({ text: '0,1\n300,2', skip: '2h' })).toBe(noRate)
    expect([CSV, '0,1\n300,2'].map(text => problemOf({ text, length: '0s' }))).toEqual([
      'lines of requests (it has no request in this span)',
      noRate,
    ])
    expect(problemOf({ text: '0,2e6', scale: 1000 })).toContain('requests/s of at most 1000000000')
  })

  test.each([
    [
      { skip: '1h' },
      CSV,
      "$[0].load.skip: expected lines of requests (it has no request in this span), got 'requests.csv'.",
    ],
    [
      { length: '0s' },
      '0,1\n9,2',
      "$[0].load.length: expected lines of 'seconds,requests/s' (it has no rate in this span), got",
    ],
    [{}, 'time,prompt_tokens,completion_tokens', '$[0].load.path: expected lines of requests (it has no request in'],
    [{}, 'time,prompt_tokens,completion_tokens\n0,a,1', '$[0].load.path: expected lines of '],
  ])('of a fixture with %j is refused at the field or in the file that is wrong', (options, text, problem) => {
    expect(() => loadFixture(folderWith(text, options))).toThrow(problem)
  })

  const perSecond = (seconds: number) =>
    `time,input_tokens,output_tokens\n${Array.from({ length: seconds }, (_, i) => `${i},1,1`).join('\n')}`
  test.each([
    ['starts over after a length beyond its last line', '0,10\n3600,20', { length: '4h' }, '12h', 756_000],
    ['starts over after a length beyond its last request', perSecond(3600), { length: '2h' }, '4h', 7200],
    ['starts over within a bin', perSecond(3600), { length: '5s' }, '3h', 10_800],
    ['starts over within its second bin', perSecond(3600), { length: '15s' }, '3h', 10_800],
    ['starts over in a pause', `${perSecond(10)}\n600,1,1`, { length: '100s' }, '1000s', 100],
    ['keeps the end of its last line', '0,10\n3600,20\n7200,0', { skip: '119m' }, '61m', 1200],
    ['is one line to its end', '0,10\n3600,20\n7200,5', { skip: '2h' }, '3h', 54_000],
    ['ends a cut line at its length', '0,10\n3600,20', { skip: '30m', length: '1h30m' }, '6h', 360_000],
    ['never starts over before the last time of a trace', '0,10\n3600,20', { length: '20000d' }, '12h', 828_000],
  ])('that is repeated %s', (_, text, cut, until, requests) => {
    const load = compileLoad(OfferedLoad.parse({ kind: 'trace', text, ...cut, repeat: true }))
    expect(curveOf(load).integral(0, micros(until))).toBeCloseTo(requests, 3)
    expect(compileLoad(load)).toEqual(load)
  })

  test('repeats without a pause', () => {
    const load = compileLoad(OfferedLoad.parse({ kind: 'trace', text: CSV, repeat: true }))
    expect(load).toMatchObject({ text: '0,0.2\n10,0\n20,0.1', repeat: true })
  })

  test('is a file of the fixture, or of simulate', { tags: 'slow' }, async () => {
    const folder = folderWith(CSV, { repeat: true })
    expect(compileLoad(loadFixture(folder).deployments[0]!.load!)).toMatchObject({
      ...{ kind: 'trace', text: '0,0.2\n10,0\n20,0.1', prompt_tokens: 400 },
    })
    const file = join(folder, 'requests.csv')
    const simulated = await commanded(['simulate', '--for', '10m', '--trace', `acme/code=${file}`, '--json'])
    const report = JSON.parse(simulated.stdout)
    const code = report.deployments.find(({ model_name }: { model_name: string }) => model_name === 'acme/code')
    expect([code.requests.arrived, code.tokens]).toEqual([3, { input: 1200, output: 60 }])
    expect(simulated.stderr).toBe(
      'The trace of acme/code ends after 30s of 10m. To repeat it, give --trace-repeat, or "repeat": true in its load in deployments.json.\n',
    )
    const compared = await commanded(['simulate', '--for', '10m', '--trace', file, '--compare', 'nodes=30,40'])
    expect(compared.stderr).toMatch(/^The trace of .* ends after 30s of 10m\. .*\n$/)
    const whole = await commanded(['simulate', '--for', '30s', '--trace', file])
    const repeated = await commanded(['simulate', '--for', '10m', '--fixtures', folder])
    expect([whole.stderr, repeated.stderr]).toEqual(['', ''])
    const unknown = await commanded(['simulate', '--for', '10m', '--trace', `acme/no=${file}`])
    expect(unknown.stderr).toContain('the world has no deployment acme/no. Give NAME=FILE')
  })

  test('of rates ends where it is cut, and simulate says so', async () => {
    const folder = folderWith('0,1\n300,0\n', {})
    const flags = ['--trace', join(folder, 'requests.csv'), '--trace-length', '1m', '--json']
    const { stdout, stderr } = await commanded(['simulate', '--for', '10m', '--fixtures', folder, ...flags])
    const { arrived } = JSON.parse(stdout).deployments[0].requests
    expect(arrived).toBeGreaterThan(30)
    expect(arrived).toBeLessThan(90)
    expect(stderr).toContain(' ends after 1m of 10m. To repeat it, give --trace-repeat')
  })

  test('is cut, scaled and repeated by the flags of simulate as by the fields of a fixture', async () => {
    const rows = Array.from({ length: 60 }, (_, i) => `${i * i},${100 + i},10`)
    const options = { skip: '20s', length: '2m', scale: 4, repeat: true }
    const folder = folderWith(`timestamp,prompt_tokens,output_tokens\n${rows.join('\n')}\n`, options)
    const run = async (...flags: string[]) => {
      const given = ['simulate', '--for', '1h', '--fixtures', folder, '--json', ...flags]
      const { stdout, stderr } = await commanded(given)
      expect(stderr).toBe('')
      const { requests, tokens } = JSON.parse(stdout).deployments[0]
      return { requests, tokens }
    }
    const ofFixture = await run()
    const trace = ['--trace', join(folder, 'requests.csv'), '--trace-repeat']
    expect(await run(...trace, '--trace-skip', '20s', '--trace-length', '2m', '--trace-scale', '4')).toEqual(ofFixture)
    expect(await run(...trace)).not.toEqual(ofFixture)
  })

  test.each([
    [['--trace-skip', '10m'], 'Failed to simulate: --trace-skip needs --trace. Leave it out, or give --trace.'],
    [['--trace-repeat'], 'Failed to simulate: --trace-repeat needs --trace. Leave it out, or give --trace.'],
    [['--trace', 'FILE', '--trace-length', 'long'], "'FILE': --trace-length: expected a duration like '90s'"],
    [['--trace', 'FILE', '--trace-skip', '1h'], "'FILE': expected lines of requests (it has no request in this span)"],
    [['--trace', 'FILE', '--trace-scale', '0'], "Failed to read --trace-scale '0': give a number above 0"],
  ])('is refused by simulate with %s', async (flags, message) => {
    const file = join(folderWith(CSV, {}), 'requests.csv')
    const given = flags.map(flag => (flag === 'FILE' ? file : flag))
    const { code, stdout, stderr } = await commanded(['simulate', '--for', '10m', ...given])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.replace(file, 'FILE')).toContain(message)
  })
})
