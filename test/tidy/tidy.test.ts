import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname ?? __dirname, '../..')
const SOURCE = join(ROOT, 'src')

interface File {
  readonly path: string
  readonly text: string
  readonly code: string
}

const files: File[] = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .sort()
  .map(name => {
    const text = readFileSync(join(SOURCE, name), 'utf8')
    return { path: name.replaceAll('\\', '/'), text, code: withoutComments(text) }
  })

/** A folder a stratum, or a file at the root of src. */
function stratum(path: string): string {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : path
}

const PIECES = /^(?:import|export)\b[^'"]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm

function importsOf(file: File): { names: string; from: string; typeOnly: boolean }[] {
  return [...file.code.matchAll(PIECES)].map(found => {
    const from = found[1] ?? found[2] ?? found[3]!
    return { names: found[0], from, typeOnly: /^(?:import|export) type\b/.test(found[0]) }
  })
}

/** What each stratum may import of ours; what it may not name at all. Design: the folder table of the README. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  store: ['kernel'],
  cluster: ['kernel', 'store'],
  api: ['cluster', 'store', 'kernel'],
  // How a complaint about a schema is worded is nobody's data.
  faults: ['kernel', 'api', 'store/problems.ts', 'store/profile.ts'],
  control: [
    'version.ts',
    'simulator.ts',
    'clock',
    'worlds.ts',
    'snapshot',
    'timelines.ts',
    'faults',
    'api',
    'cluster',
    'kernel',
    'store',
  ],
  scenario: [
    'simulator.ts',
    'timelines.ts',
    'clock',
    'awaited-answer.ts',
    'faults',
    'control',
    'api',
    'cluster',
    'kernel',
    'store',
    'index.ts',
  ],
  'simulator.ts': [
    'client-patience.ts',
    'api',
    'cluster',
    'store',
    'kernel',
    'faults',
    'clock',
    'received.ts',
    'timelines.ts',
    'control/kinds.ts',
    'snapshot',
  ],
  snapshot: [
    'store',
    'cluster',
    'faults',
    'kernel',
    'api/scripted.ts',
    'clock/setting.ts',
    'timelines.ts',
    'control/version.ts',
  ],
  clock: ['cluster', 'store', 'kernel'],
  'client-patience.ts': ['clock', 'api', 'cluster', 'kernel'],
  'awaited-answer.ts': ['simulator.ts', 'client-patience.ts', 'api', 'kernel'],
  'timelines.ts': ['cluster', 'faults', 'kernel'],
  'worlds.ts': ['simulator.ts', 'snapshot', 'api', 'kernel'],
  conform: ['simulator.ts', 'api', 'store', 'kernel'],
  'routing.ts': ['worlds.ts', 'simulator.ts', 'client-patience.ts', 'faults', 'api', 'kernel', 'store/json-text.ts'],
  'received.ts': ['api', 'kernel', 'store/json-text.ts'],
}

const MUST_NOT_CONTAIN: Readonly<Record<string, RegExp>> = {
  kernel: /\b(deployment|GPU|Request|Response|Promise|async)\b/i,
  cluster: /\b(Request|Response|async|await|Promise|msw)\b/,
  store: /\b(Request|Response|setTimeout)\b/,
  api: /node:http|from 'msw|kernel\/agenda/,
}

describe('the tree', () => {
  test('imports only downwards', () => {
    const breaches: string[] = []
    for (const file of files) {
      const allowed = MAY_IMPORT[stratum(file.path)]
      if (!allowed) continue
      for (const { from } of importsOf(file)) {
        if (!from.startsWith('.')) continue
        const target = relative(SOURCE, resolve(join(SOURCE, dirname(file.path)), from)).replaceAll('\\', '/')
        // The shipped profiles, for a browser that has no files.
        if (/^\.\.\/profiles\/.*\.json$/.test(target)) continue
        const there = stratum(target)
        const isAllowed = there === stratum(file.path) || allowed.includes(there) || allowed.includes(target)
        if (!isAllowed) breaches.push(`${file.path} imports ${target}`)
      }
    }
    expect(breaches).toEqual([])
  })

  test('says nothing that its stratum must not know', () => {
    const breaches: string[] = []
    for (const file of files) {
      const banned = MUST_NOT_CONTAIN[stratum(file.path)]
      // The pacer is the kernel's one door to the real world.
      if (!banned || file.path === 'kernel/pacer.ts') continue
      const store = stratum(file.path) === 'store' || stratum(file.path) === 'api'
      const code = store ? file.code : withoutStrings(file.code)
      const found = banned.exec(code)
      if (found) breaches.push(`${file.path}: ${found[0]}`)
    }
    expect(breaches.filter(one => !ALLOWED_WORDS.includes(one))).toEqual([])
  })

  test('lets no cycle of values stand between files', () => {
    const graph = new Map<string, string[]>()
    for (const file of files) {
      const targets = importsOf(file)
        .filter(one => one.from.startsWith('.') && !one.typeOnly && hasValues(one.names))
        .map(one => relative(SOURCE, resolve(join(SOURCE, dirname(file.path)), one.from)).replaceAll('\\', '/'))
      graph.set(file.path, targets)
    }
    const done = new Set<string>()
    const cycles: string[] = []
    const visit = (path: string, trail: readonly string[]) => {
      if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      else if (!done.has(path)) {
        for (const target of graph.get(path) ?? []) visit(target, [...trail, path])
        done.add(path)
      }
    }
    for (const path of graph.keys()) visit(path, [])
    expect(cycles).toEqual([])
  })

  test('takes zod by its namespace: by a name of its own all of it would be in the bundle', () => {
    const found = files.filter(({ code }) => /^import (?!(type )?\* as z\b).* from 'zod'/m.test(code))
    expect(found.map(({ path }) => path)).toEqual([])
  })

  test('has no folder or file that is named for nothing', () => {
    const bad = files
      .map(file => file.path)
      .filter(path => /(^|\/)(utils?|helpers?|common|shared|manager|misc)/i.test(path))
    expect(bad).toEqual([])
  })

  test('has no file longer than 800 lines', () => {
    expect(files.filter(file => file.text.split('\n').length > 800).map(file => file.path)).toEqual([])
  })
})

describe('determinism', () => {
  test('one file reads the real clock, and two name timers', () => {
    const CLOCKS = /\bDate\.now\b|\bperformance\.|\bnew Date\(\)|\bhrtime\b|\bTemporal\.Now\b/
    const TIMERS = /\bset(Timeout|Interval|Immediate)\b|node:timers/
    expect(containing(CLOCKS)).toEqual(['kernel/pacer.ts'])
    expect(containing(TIMERS)).toEqual(['clock/lockstep.ts', 'clock/turns.ts'])
  })

  test('one file makes chance, and none calls what engines may round differently', () => {
    expect(containing(/\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b/)).toEqual([])
    expect(
      containing(/\bMath\.(log|log2|log10|exp|pow|sin|cos|tan|cbrt|sinh|expm1|log1p)\b|\*\*(?!\/)/).filter(path =>
        /^(kernel|store|cluster)\//.test(path),
      ),
    ).toEqual([...POWERS_OF_TWO])
  })

  test('no world lives in a module: what stands there is constant', () => {
    const breaches: string[] = []
    for (const file of files) {
      for (const [i, line] of file.code.split('\n').entries()) {
        if (/^(export )?let /.test(line)) breaches.push(`${file.path}:${i + 1}: ${line}`)
      }
    }
    // A tokenizer that is loaded once is a pure function that takes its time; what reads TypeScript is the process's.
    const ofTheProcess = ['api/tokenizer.ts', 'scenario/files.ts']
    expect(breaches.filter(one => !ofTheProcess.some(path => one.startsWith(path)))).toEqual([])
  })

  test('what a module keeps is what it has worked out of what never changes', () => {
    // A collection that is not read-only, an object with nothing in it yet, a field of a class itself.
    const KEPT =
      /^(?:export )?const (\w+)(?::(?! Readonly)[^=]*)? = (?:new (?:Weak)?(?:Map|Set)\b|new Array\b|\[\]|\{\})/
    const STATIC = /^ {2}(?:private |public )?static (?!readonly|override|get\b|async\b|#?\w+[(<])/
    const found = files.flatMap(({ path, code }) =>
      code
        .split('\n')
        .map(line => KEPT.exec(line)?.[1] ?? (STATIC.test(line) ? line.trim() : undefined))
        .filter(name => name !== undefined)
        .map(name => `${path} ${name}`),
    )
    expect(found).toEqual([...WORKED_OUT])
  })
})

/** Words that are right where they stand. */
const ALLOWED_WORDS: readonly string[] = []
/** By what they were worked out of, or by a file as it was last changed: two worlds that find it there see no difference. */
const WORKED_OUT: readonly string[] = [
  'api/aggregator.ts texts',
  'api/models.ts texts',
  'api/prepared.ts routers',
  'api/serve-request.ts wordings',
  'api/shape.ts inputs',
  'api/shape.ts outputs',
  'cluster/given-files.ts contents',
  'cluster/given-files.ts readings',
  'store/fixture-files.ts homes',
  'store/fixture.ts loaded',
  'store/profile.ts loaded',
  'store/profile.ts parsedFiles',
]
/** 2 ** n is exact in every engine. */
const POWERS_OF_TWO = ['kernel/agenda.ts']

function containing(pattern: RegExp): string[] {
  return files.filter(file => pattern.test(withoutStrings(file.code))).map(file => file.path)
}

function hasValues(statement: string): boolean {
  const names = /\{([^}]*)\}/.exec(statement)?.[1]
  return names === undefined || names.split(',').some(name => name.trim() !== '' && !name.trim().startsWith('type '))
}

function withoutComments(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, comment => comment.replaceAll(/[^\n]/g, ''))
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1')
}

function withoutStrings(code: string): string {
  return code.replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''").replaceAll(/`(?:[^`\\$]|\\.)*`/g, '``')
}
