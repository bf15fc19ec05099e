import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openProfile as openInBrowser } from '../../src/data/fixtures/files.browser.ts'
import { GPUS } from '../../src/data/gpu-specs.ts'
import { draw, NO_CAP } from '../../src/data/profiles/distribution.ts'
import { loadProfile, type ProfileInput } from '../../src/data/profiles/load.ts'
import { ProfileError } from '../../src/data/profiles/problems.ts'
import { PROFILE_SECTIONS } from '../../src/data/profiles/schema.ts'
import { NamedSections, type ProfileSection, ProfileSetting } from '../../src/data/profiles/setting.ts'
import { duration, period } from '../../src/data/profiles/setting-kinds.ts'
import { DAY, MINUTE, SECOND } from '../../src/kernel/duration.ts'
import { Chance, purpose } from '../../src/kernel/random.ts'
import { temporaryFolderOfTests } from '../setup/temporary-folder.ts'

const SHIPPED = ['realistic', 'quick', 'rough']

function failureOf(act: () => unknown): ProfileError {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(ProfileError)
    return error as ProfileError
  }
  throw new Error('expected a ProfileError, nothing was thrown')
}

describe('shipped profiles', () => {
  test.each(SHIPPED)('%s loads and is deeply frozen', name => {
    const profile = loadProfile(name)
    expect(profile.name).toBe(name)
    expect(profile.description).not.toBe('')
    const inner: unknown[] = [profile]
    for (const each of inner) {
      if (typeof each !== 'object' || each === null) continue
      expect(Object.isFrozen(each)).toBe(true)
      inner.push(...Object.values(each))
    }
  })

  test('realistic has a source for each setting and a reason for each assumption', () => {
    const { sources, weather } = loadProfile('realistic')
    const figures = figuresOf(PROFILE_SECTIONS, Object.keys(weather.packs))
    expect(Object.keys(sources).sort()).toEqual(figures.sort())
    for (const source of Object.values(sources)) {
      expect(source.startsWith('(A)') ? source.slice(4) : source).toMatch(/\S.{9,}/)
    }
  })

  test('realistic has a price for each GPU type', () => {
    expect(Object.keys(loadProfile('realistic').prices.centsPerHour).sort()).toEqual(Object.keys(GPUS).sort())
  })

  test('quick has short constant times and keeps the times that the interface promises', () => {
    const { timings, weather } = loadProfile('quick')
    const promised = { batchWindow: DAY, fileLife: 30 * DAY }
    expect(timings).toMatchObject(promised)
    const kinds: readonly unknown[] = [duration, period]
    const figures = Object.entries(PROFILE_SECTIONS.timings).filter(([, { kind }]) => kinds.includes(kind))
    expect(figures.length).toBeGreaterThan(20)
    for (const [key, value] of Object.entries(timings)) {
      if (typeof value === 'object' && 'median' in value) expect({ key, sigma: value.sigma }).toEqual({ key, sigma: 0 })
    }
    for (const value of Object.values(weather)) {
      if (typeof value === 'object' && 'median' in value) expect(value.sigma).toBe(0)
    }
    for (const [key] of figures) {
      const name = key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) as keyof typeof timings
      if (!(name in promised)) expect(timings[name]).toBeLessThanOrEqual(MINUTE)
    }
  })

  test('rough has ten times the faults, active from the start', () => {
    const { weather } = loadProfile('rough')
    expect(weather.pack).toBe('rough')
    const { realistic, rough } = weather.packs
    expect(rough!.nodeFaultsPerHour / realistic!.nodeFaultsPerHour).toBeCloseTo(10)
    expect(realistic!.nodeFaultsPerHour).toBe(2.7e-4)
  })

  test.each(['realistic', 'quick'])('%s has no weather by default', name => {
    expect(loadProfile(name).weather.pack).toBe('none')
  })

  test('a browser has the shipped profiles and asks for an object otherwise', () => {
    for (const name of SHIPPED) {
      const file = openInBrowser(name)
      expect('read' in file && JSON.parse(file.read())).toEqual(
        JSON.parse(readFileSync(`fixtures/profiles/${name}.json`, 'utf8')),
      )
    }
    expect(openInBrowser('quik')).toEqual({
      problem:
        "unknown name, and files need Node. Did you mean 'quick'? " +
        "Give one of 'quick', 'realistic', 'rough', or the profile as an object.",
    })
  })
})

describe('a profile that extends another', () => {
  test('names only differences, and extends realistic by default', () => {
    const base = loadProfile()
    expect(base).toBe(loadProfile('realistic'))
    const { sources, ...profile } = loadProfile({
      timings: { drain: '30s' },
      prices: { cents_per_hour: { 'H100-80GB': 250 } },
    })
    const { sources: theirs, ...expected } = base
    expect(profile).toEqual({
      ...expected,
      name: 'custom',
      description: '',
      timings: { ...base.timings, drain: 30 * SECOND },
      prices: { ...base.prices, centsPerHour: { ...base.prices.centsPerHour, 'H100-80GB': 250 } },
    })
    const { 'timings.drain': _, 'prices.cents_per_hour.H100-80GB': __, ...left } = theirs
    expect(sources).toEqual(left)
  })

  test('may give a source for its own setting', () => {
    const { timings, sources } = loadProfile({ timings: { drain: { value: '30s', source: 'measured on Monday' } } })
    expect(timings.drain).toBe(30 * SECOND)
    expect(sources['timings.drain']).toBe('measured on Monday')
  })

  test.each<[string, NonNullable<NonNullable<ProfileInput['timings']>['image_pull']>, unknown]>([
    ['a field of a distribution keeps the others', { median: '60s' }, { median: MINUTE, sigma: 0.5, cap: 15 * MINUTE }],
    ['a constant replaces it', '60s', { median: MINUTE, sigma: 0, cap: MINUTE }],
    ['another distribution replaces it', { mean: '60s' }, { mean: MINUTE, cap: NO_CAP }],
    ['and another', { min: '1s', max: '3s' }, { min: SECOND, max: 3 * SECOND }],
    [
      'one with a source too',
      { value: { cap: '20m' }, source: 'x' },
      { median: 200 * SECOND, sigma: 0.5, cap: 20 * MINUTE },
    ],
  ])('%s', (_, image_pull, expected) => {
    expect(loadProfile({ timings: { image_pull } }).timings.imagePull).toEqual(expected)
  })

  test('replaces lists and tables of codes', () => {
    const { timings, weather } = loadProfile({
      timings: { retry_after: ['1s'] },
      weather: { gpu_xids: { '79': 1, '48': 2 } },
    })
    expect(timings.retryAfter).toEqual([SECOND])
    expect(weather.gpuXids).toEqual([
      { xid: 48, count: 2 },
      { xid: 79, count: 1 },
    ])
  })

  test('may add a pack, and change a shipped pack setting by setting', () => {
    const { weather } = loadProfile({
      weather: { pack: 'hub-only', packs: { 'hub-only': { hub_outages_per_hour: 1 }, calm: { topup_declined: 0.5 } } },
    })
    const { 'hub-only': own, calm } = weather.packs
    expect(own).toMatchObject({ hubOutagesPerHour: 1, nodeFaultsPerHour: 0, batchWaitShares: { none: 1 } })
    expect(calm).toEqual({ ...loadProfile().weather.packs.calm, topupDeclined: 0.5 })
  })

  test('leaves the object of the user unchanged', () => {
    const source: ProfileInput = { timings: { image_pull: { median: '60s' } } }
    loadProfile(source)
    expect(source).toEqual({ timings: { image_pull: { median: '60s' } } })
    expect(Object.isFrozen(source.timings)).toBe(false)
  })
})

describe('the file of a profile', () => {
  const folder = temporaryFolderOfTests()
  const write = (name: string, profile: unknown): string => {
    const path = join(folder, name)
    writeFileSync(path, typeof profile === 'string' ? profile : JSON.stringify(profile))
    return path
  }

  test('extends a profile by name, or by a path relative to itself', () => {
    write('team.json', { extends: 'quick', timings: { drain: '7s', adapter_slots: 2 } })
    const path = write('lab.json', { $schema: './any', extends: './team.json', timings: { adapter_slots: 3 } })
    const { name, timings } = loadProfile(path)
    expect(name).toBe('lab')
    expect(timings).toEqual({ ...loadProfile('quick').timings, drain: 7 * SECOND, adapterSlots: 3 })
  })

  test('is read again when it or a file that it extends changes', () => {
    const below = write('below.json', { timings: { drain: '7s' } })
    const path = write('above.json', { extends: './below.json' })
    const first = loadProfile(path)
    expect(loadProfile(path)).toBe(first)
    write('below.json', { timings: { drain: '8s' } })
    utimesSync(below, 1, 1)
    expect(loadProfile(path).timings.drain).toBe(8 * SECOND)
  })

  test('is rejected with the cycle when it extends itself', () => {
    write('a.json', { extends: './b.json' })
    write('b.json', { extends: './c.json' })
    write('c.json', { extends: './b.json' })
    expect(failureOf(() => loadProfile(join(folder, 'a.json'))).problems).toEqual([
      "./c.json: $.extends: expected a profile that does not extend this one, got './b.json': ./b.json → ./c.json → " +
        "./b.json is a cycle. Extend 'realistic', or null, in one of them.",
    ])
  })

  test('is rejected with the position when it is invalid JSON', () => {
    const path = write('broken.json', '{\n  "timings": { "drain": 1s }\n}')
    expect(failureOf(() => loadProfile(path)).message).toBe(
      `Failed to load profile '${path}': ${path}: line 2, column 26: expected ',' or '}', got 's'. Fix the JSON there.`,
    )
    const twice = write('twice.json', '{"name":"a","name":"b"}')
    expect(failureOf(() => loadProfile(twice)).message).toContain('the key "name" is there twice')
  })

  test('is named in a problem that another profile inherits from it', () => {
    write('wrong.json', { timings: { drian: '1s' }, limits: { batches_under_way: 0 } })
    write('cap.json', { timings: { image_pull: { cap: '5m' } } })
    expect(failureOf(() => loadProfile({ extends: join(folder, 'wrong.json') })).problems).toEqual([
      `${join(folder, 'wrong.json')}: $.timings.drian: unknown field. Did you mean 'drain'? Rename or remove it.`,
      `${join(folder, 'wrong.json')}: $.limits.batches_under_way: expected at least 1, got 0. Fix that value.`,
    ])
    const { problems } = failureOf(() =>
      loadProfile({ extends: join(folder, 'cap.json'), timings: { image_pull: { median: '10m' } } }),
    )
    expect(problems).toEqual([
      'profile: $.timings.image_pull.cap: expected at least the median of 10m, got 5m: a cap below the median would cut ' +
        `most draws. Raise it, or lower the median. (The value is from ${join(folder, 'cap.json')}.)`,
    ])
  })

  test.each([
    ['defualt', "Failed to load profile 'defualt': unknown name. Give one of 'quick', 'realistic', 'rough', or"],
    ['quik', "unknown name. Did you mean 'quick'?"],
    ['./no/such.json', "Failed to load profile './no/such.json': the file is missing. Give one of 'quick'"],
    ['./fixtures', "Failed to load profile './fixtures': it is not a file."],
  ])('is rejected when %s is missing', (source, message) => {
    expect(failureOf(() => loadProfile(source)).message).toContain(`Failed to load profile '${source}': `)
    expect(failureOf(() => loadProfile(source)).message).toContain(message)
    expect(failureOf(() => loadProfile({ extends: source })).message).toContain(
      'profile: $.extends: expected a profile',
    )
  })
})

describe('loadProfile rejects', () => {
  const DURATION = "expected a duration like '500ms', '90s', '1h30m' or '7d'"

  test.each<[place: string, value: unknown, problem: string]>([
    ['weathr', {}, "unknown field. Did you mean 'weather'? Rename or remove it."],
    ['limits', 4, 'expected an object, got 4. Fix that value.'],
    ['name', 4, 'expected a string, got 4. Fix that value.'],
    ['extends', 3, 'expected the name or path of a profile, or null, got 3. Fix that value.'],
    ['timings.drian', '1s', "unknown field. Did you mean 'drain'? Rename or remove it."],
    ['timings.__proto__', 1, 'unknown field. Remove it.'],
    ['prices.cents_per_hour.H100', 200, "unknown field. Did you mean 'H100-80GB'? Rename or remove it."],
    ['prices.cents_per_hour["L4-24GB"]', -3, 'expected at least 0, got -3. Fix that value.'],
    ['prices.cents_per_hour["H100-80GB"]', 1e15, 'expected at most 1000000000, got 1000000000000000. Fix that value.'],
    ['prices.batch_share', 1.2, 'expected at most 1, got 1.2. Fix that value.'],
    ['timings.drain', 10, `${DURATION}, got 10. Fix that value.`],
    ['timings.drain', '-1s', `${DURATION}, got '-1s'. Fix that value.`],
    [
      'timings.autoscaler_evaluation',
      '0s',
      "expected a duration of more than 0, like '500ms', '90s' or '24h', got '0s'.",
    ],
    ['timings.retry_after[1]', 2, `${DURATION}, got 2. Fix that value.`],
    ['timings.load_rate', 0, "expected a rate of more than 0, like '800MB/s', or a number of bytes per second, got 0."],
    ['timings.download_rate.median', '3GB', "expected a rate of more than 0, like '800MB/s', or a number of bytes per"],
    ['timings.image_bytes', 0.5, "expected a size like '500MB', '2TB' or '1GiB', or a whole number of bytes, got 0.5."],
    ['timings.warm_up.sigma', -1, 'expected at least 0, got -1. Fix that value.'],
    [
      'timings.image_pull.cap',
      '10s',
      'expected at least the median of 3m 20s, got 10s: a cap below the median would cut',
    ],
    ['timings.image_pull.medain', '1s', "unknown field. Did you mean 'median'? Rename or remove it."],
    ['timings.adapter_slots', 1.5, 'expected a whole number, got 1.5. Fix that value.'],
    ['timings.adapter_slots', 0, 'expected at least 1, got 0. Fix that value.'],
    [
      'timings.ready_within',
      '2s',
      'expected more than load_fixed + warm_up, 12 s, got 2 s: no instance would be ready',
    ],
    [
      'timings.image_bytes',
      '9TB',
      'expected at most image_cache_bytes, 200000000000, got 9000000000000: no image would stay',
    ],
    ['weather.acceleration', 1e300, 'expected at most 1000000000, got 1e+300. Fix that value.'],
    ['weather.packs.calm.topup_declined', -0.1, 'expected at least 0, got -0.1. Fix that value.'],
    ['weather.fault_causes.gpus', 0.64, "unknown field. Did you mean 'gpu'? Rename or remove it."],
    ['weather.pack', 'realstic', "'payment-trouble', got 'realstic'. Did you mean 'realistic'? Fix that value."],
    [
      'weather.packs.none',
      {},
      "expected a name of lower-case letters, digits and dashes other than 'none', got 'none'.",
    ],
    [
      'policies.placement',
      'best_fit',
      "expected one of 'best-fit', 'spread', got 'best_fit'. Did you mean 'best-fit'?",
    ],
    ['policies.failed_may_start', 'yes', "expected true or false, got 'yes'. Fix that value."],
  ])('%s with the value %j', (place, value, problem) => {
    const steps = place.match(/[\w-]+/g)!
    const source = steps.reduceRight<unknown>(
      (inner, step) => (step === '1' ? ['1s', inner] : { [step]: inner }),
      value,
    )
    expectProblem(source, `$.${place}`, problem)
  })

  test.each<[title: string, source: unknown, place: string, problem: string]>([
    ['no object', [], '$', 'expected an object, got an array. Fix that value.'],
    [
      'a cap below the mean',
      { timings: { node_repair_manual: { mean: '48h', cap: '1h' } } },
      '$.timings.node_repair_manual.cap',
      'expected at least the mean of 2d, got 1h: a cap below the mean would move the mean. Raise it, or lower the mean.',
    ],
    [
      'min above max',
      { weather: { degradation_factor: { min: 3, max: 2 } } },
      '$.weather.degradation_factor.max',
      'expected at least the min of 3, got 2: the range is empty. Swap them.',
    ],
    [
      'half a distribution',
      { timings: { image_pull: { min: '1s' } } },
      '$.timings.image_pull.max',
      `${DURATION}, got nothing. Add that field.`,
    ],
    [
      'shares that do not sum to 1',
      { timings: { node_repair_shares: { reset: 0.7 } } },
      '$.timings.node_repair_shares',
      'expected shares with a sum of 1, got a sum of 1.15. Fix one of them.',
    ],
    [
      'an error without a code',
      { weather: { gpu_xids: { '79': 0 } } },
      '$.weather.gpu_xids',
      'expected at least one code with a count above 0. Add one.',
    ],
    [
      'a source without its figure',
      { timings: { drain: { source: 'x' } } },
      '$.timings.drain.value',
      'expected the value of the setting beside its source, got nothing. Add that field.',
    ],
    [
      'a source that says nothing',
      { timings: { drain: { value: '1s', source: '' } } },
      '$.timings.drain.source',
      "expected a text that names the source of the value, got ''. Fix that value.",
    ],
    [
      'a field beside value and source',
      { timings: { drain: { value: '1s', sorce: 'x' } } },
      '$.timings.drain.sorce',
      "unknown field. Did you mean 'source'? Rename or remove it.",
    ],
  ])('%s', (_, source, place, problem) => expectProblem(source, place, problem))

  function expectProblem(source: unknown, place: string, problem: string): void {
    const { message, problems } = failureOf(() => loadProfile(source as ProfileInput))
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`profile: ${place}: `)
    expect(problems[0]).toContain(problem)
    expect(message).toBe(`Failed to load the profile: ${problems[0]}`)
  }

  test('all problems at once, and shows the first ten', () => {
    const { message, problems } = failureOf(() => loadProfile({ extends: null, timings: {} }))
    expect(problems.length).toBeGreaterThan(30)
    expect(problems).toContain('profile: $.prices: expected an object, got nothing. Add that field.')
    expect(message).toMatch(/^Failed to load the profile: \d+ problems:\n {2}profile: \$\.timings\.placement_delay: /)
    expect(message).toMatch(/\n {2}and \d+ more$/)
  })
})

describe('draw', () => {
  const chance = new Chance('1')
  const key = chance.key('deployment', 'acme/chat')
  const what = purpose('test')
  const draws = (spread: Parameters<typeof draw>[0]) =>
    Array.from({ length: 2000 }, (_, i) => draw(spread, chance, key, what, i)).sort((a, b) => a - b)

  test('follows its distribution', () => {
    expect(new Set(draws({ median: 5, sigma: 0, cap: 5 }))).toEqual(new Set([5]))
    const lognormal = draws({ median: 100, sigma: 0.5, cap: 150 })
    expect(lognormal[1000]! / 100).toBeCloseTo(1, 1)
    expect(lognormal.at(-1)).toBe(150)
    const exponential = draws({ mean: 100, cap: NO_CAP })
    expect(exponential.reduce((sum, each) => sum + each, 0) / 2000 / 100).toBeCloseTo(1, 1)
    const uniform = draws({ min: 1, max: 3 })
    expect(uniform[0]).toBeGreaterThanOrEqual(1)
    expect(uniform.at(-1)).toBeLessThan(3)
    expect(uniform[1000]).toBeCloseTo(2, 1)
  })

  test('draws from a lognormal as Chance does', () => {
    expect(draw({ median: 200, sigma: 0.5, cap: 900 }, chance, key, what, 3)).toBe(
      Math.min(900, chance.lognormal(200, 0.5, key, what, 3)),
    )
  })
})

/** Places of all figures, packs included. */
function figuresOf(shape: ProfileSection, packs: readonly string[], path = ''): string[] {
  return Object.entries(shape).flatMap(([key, part]) => {
    if (part instanceof ProfileSetting) return [`${path}${key}`]
    if (part instanceof NamedSections)
      return packs.flatMap(name => figuresOf(part.shape, packs, `${path}${key}.${name}.`))
    return figuresOf(part as ProfileSection, packs, `${path}${key}.`)
  })
}
