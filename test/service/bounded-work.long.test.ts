/**
 * The work of an operation is bounded: no JSON body of 1 MB costs a second of CPU time, whatever it has. Only the time of
 * this process counts, and a fixed loop in the same run tells how fast the machine is now.
 */
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { controlOperations, createControl } from '../../src/server/control/index.ts'
import { Worlds } from '../../src/server/worlds/worlds.ts'
import { operations } from '../../src/service/index.ts'
import { loadTokenizer } from '../../src/service/openai/tokenizer.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'

const MEGABYTE = 1_000_000
const LIMIT_MS = 1_000
/** CPU milliseconds of `calibrate` on an idle machine of 2024. */
const REFERENCE_MS = 55
/** Random bodies of each operation. `.ci/nightly` sends more. */
const RUNS = Math.ceil(Number(process.env.FUZZ_RUNS ?? 50) / 30)

await loadTokenizer()

/** Returns the CPU milliseconds of this process during a call. */
async function cpuMs(call: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Parses and writes JSON, as requests do. */
function calibrate(): void {
  const text = JSON.stringify(Array.from({ length: 50_000 }, (_, i) => ({ id: i, name: `name ${i}` })))
  for (let i = 0; i < 2; i++) JSON.stringify(JSON.parse(text))
}

const depth = fc.integer({ min: 1, max: 60 })
const nested = (levels: number, opening: string, inner: string, closing: string) =>
  `${opening.repeat(levels)}${inner}${closing.repeat(levels)}`

/** Small JSON values, as text. */
const small = fc.oneof(
  fc.constantFrom('1', '""', '"a"', 'null', 'true', '{}', '[]', '-1.5e300', '[1]', '[[1]]', '{"a":1}'),
  fc.constantFrom('{"role":"user","content":"a"}', '{"type":"text","text":"a"}', '{"name":"a"}', '"10.0.0.0/8"'),
  fc.json({ maxDepth: 3 }),
  depth.map(levels => nested(levels, '[', '1', ']')),
  depth.map(levels => nested(levels, '{"a":', '1', '}')),
)
const character = fc.constantFrom(
  'a',
  ' ',
  '0',
  '-',
  '.',
  '/',
  '*',
  '\u{1f600}',
  '\\u0000',
  'é',
  '\\n',
  'ab ',
  'a1',
  '(a*)',
)

/** JSON values of about `size` characters, as text: long arrays, long texts, many keys. */
const large = (size: number): fc.Arbitrary<string> =>
  fc.oneof(
    small.map(item => `[${Array.from({ length: size / (item.length + 1) }, () => item).join()}]`),
    fc.array(small, { minLength: 2, maxLength: 20 }).map(items => {
      const part = items.join()
      return `[${Array.from({ length: size / (part.length + 1) + 1 }, () => part).join()}]`
    }),
    character.map(one => `"${one.repeat(size / one.length)}"`),
    fc
      .array(character, { minLength: 2, maxLength: 9 })
      .map(all => `"${all.join('').repeat(size / all.join('').length)}"`),
    fc.constant(0).map(() => `"${Array.from({ length: size / 9 }, (_, i) => `word${i}`).join(' ')}"`),
    small.map(item => {
      const count = size / (item.length + 12)
      return `{${Array.from({ length: count }, (_, i) => `"k${i}":${item}`).join()}}`
    }),
    depth.map(levels => nested(levels, '{"a":[', `"${'a'.repeat(size)}"`, ']}')),
  )

/** Returns the paths of all values within an example. */
function pathsOf(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [[]]
  return [[], ...Object.entries(value).flatMap(([name, inner]) => pathsOf(inner).map(path => [name, ...path]))]
}

/** Returns the JSON of a value with the text `part` in place of what is at a path. */
function withPart(value: unknown, [name, ...rest]: readonly string[], part: string): string {
  if (name === undefined) return part
  const object = value as Record<string, unknown>
  const fields = Object.keys(object).map(key => {
    const text = key === name ? withPart(object[key], rest, part) : JSON.stringify(object[key])
    return Array.isArray(value) ? text : `${JSON.stringify(key)}:${text}`
  })
  return Array.isArray(value) ? `[${fields.join()}]` : `{${fields.join()}}`
}

/** Bodies of about 1 MB: an example with a large value in one place or a field more, or no valid JSON. */
function bodiesOf(example: unknown, names: readonly string[]): fc.Arbitrary<string> {
  const paths = pathsOf(example)
  const listed = paths.filter(path => path.at(-1) === '0')
  return fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .tuple(fc.constantFrom(...paths), large(MEGABYTE))
        .map(([path, part]) => withPart(example, path, part)),
    },
    {
      weight: names.length > 0 ? 5 : 0,
      arbitrary: fc.tuple(fc.constantFrom('', ...names), large(MEGABYTE)).map(([name, part]) => {
        const known = typeof example === 'object' && example !== null ? example : {}
        return withPart({ ...known, [name]: 0 }, [name], part)
      }),
    },
    {
      // An array of the example, a hundred thousand times the same.
      weight: listed.length > 0 ? 2 : 0,
      arbitrary: fc.constantFrom(...(listed.length > 0 ? listed : [[]])).map(path => {
        const item = JSON.stringify(path.reduce((inner, name) => (inner as Record<string, unknown>)[name], example))
        const items = Array.from({ length: MEGABYTE / (item.length + 1) }, () => item)
        return withPart(example, path.slice(0, -1), `[${items.join()}]`)
      }),
    },
    fc.constantFrom('[', '{"a":', '[[],', '"', '\\', ' ', '1').map(part => part.repeat(MEGABYTE / part.length)),
  )
}

/** Bodies of 1 MB with as many invalid items as fit in the place of each array of an example. */
function longestLists(example: unknown): string[] {
  const lists = pathsOf(example).filter(path => path.at(-1) === '0')
  return lists.flatMap(path =>
    ['1', '{}'].map(item => {
      const items = Array.from({ length: MEGABYTE / (item.length + 1) }, () => item)
      return withPart(example, path.slice(0, -1), `[${items.join()}]`)
    }),
  )
}

/** Returns the names of the fields of a body, as far as its schema says. */
function fieldNames(schema: unknown): string[] {
  let inner = schema as { unwrap?: () => unknown; shape?: object } | undefined
  while (typeof inner?.unwrap === 'function') inner = inner.unwrap() as typeof inner
  return Object.keys(inner?.shape ?? {})
}

const SEED = Number(process.env.FUZZ_SEED ?? 7)
const CASES = [...Object.values(operations), ...Object.values(controlOperations)]
  .filter(({ body }) => body !== undefined)
  .map((endpoint, i) => [endpoint.route, endpoint, SEED + i] as const)

test.each(CASES)(
  '%s costs less than a second of CPU time for a body of 1 MB',
  { timeout: 120_000 },
  async (route, { example, body }, seed) => {
    const [method, path] = route.split(' ') as [string, string]
    const isControl = path.startsWith('/_sim')
    const target = (example?.target ?? path).replaceAll(/\{\w+\}/g, 'x')
    const sim = createSimulator({ fixtures: 'two-nodes' })
    const worlds = new Worlds(sim)
    const control = createControl(worlds)
    onTestFinished(() => sim[Symbol.asyncDispose]())
    const send = (text: string) => {
      const headers = { authorization: `Bearer ${sim.token}`, 'content-type': 'application/json' }
      const request = new Request(`http://sim${target}`, { method, headers, body: text })
      return isControl ? control.answer(sim, request, { path: target }) : sim.fetch(request)
    }
    const bodies = fc.sample(bodiesOf(example?.body, fieldNames(body)), { seed, numRuns: RUNS })
    const factor = Math.max(1, (await cpuMs(calibrate)) / REFERENCE_MS)
    for (const text of [...longestLists(example?.body), ...bodies]) {
      const sample = `${text.slice(0, 120)} … ${text.slice(-40)}`
      const cost = await cpuMs(async () => {
        const response = await send(text)
        await response.body?.cancel()
        expect(response.status, sample).toBeLessThan(500)
      })
      if (process.env.SHOW) console.log(Math.round(cost), factor.toFixed(1), route, sample.slice(0, 90))
      expect(cost / factor, sample).toBeLessThan(LIMIT_MS)
    }
  },
)
