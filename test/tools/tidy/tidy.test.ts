import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

import { LONG_FILES } from '../../setup/long-files-first.ts'

const ROOT = resolve(import.meta.dirname ?? __dirname, '../../..')
const SOURCE = join(ROOT, 'src')

interface File {
  readonly path: string
  readonly text: string
  readonly code: string
}

const files: File[] = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter(name => /\.tsx?$/.test(name))
  .sort()
  .map(name => {
    const text = readFileSync(join(SOURCE, name), 'utf8')
    return { path: name.replaceAll('\\', '/'), text, code: withoutComments(text) }
  })

/** The folder at the top of src that a file is in. */
function topFolder(path: string): string {
  return path.slice(0, path.indexOf('/'))
}

/** Words that a folder must not contain, because their subject is that of a higher level. Imports: `npm run check`. */
const MUST_NOT_CONTAIN: Readonly<Record<string, RegExp>> = {
  lib: /\b(deployment|GPU|simulat\w+)\b/i,
  kernel: /\b(deployment|GPU|Request|Response|Promise|async)\b/i,
  simulation: /\b(Request|Response|async|await|Promise|msw)\b/,
  data: /\b(Request|Response|setTimeout)\b/,
  service: /node:http|from 'msw|kernel\/agenda/,
}

describe('the source', () => {
  test('has no folder that contains words of a higher level', () => {
    const breaches: string[] = []
    for (const file of files) {
      const folder = topFolder(file.path)
      const banned = MUST_NOT_CONTAIN[folder]
      const code = folder === 'data' || folder === 'service' ? file.code : withoutStrings(file.code)
      const found = banned?.exec(code)
      if (found) breaches.push(`${file.path}: ${found[0]}`)
    }
    expect(breaches).toEqual([])
  })

  test('imports zod as a namespace, so that a bundle has only what it uses', () => {
    const found = files.filter(({ code }) => /^import (?!(type )?\* as z\b).* from 'zod'/m.test(code))
    expect(found.map(({ path }) => path)).toEqual([])
  })

  test('has no folder or file with a name that says nothing', () => {
    const bad = files
      .map(file => file.path)
      .filter(path => /(^|\/)(utils?|helpers?|common|shared|manager|misc)/i.test(path))
    expect(bad).toEqual([])
  })
})

test('each long test that starts first exists', () => {
  expect(LONG_FILES.filter(name => !existsSync(join(ROOT, `test/${name}.test.ts`)))).toEqual([])
})

describe('determinism', () => {
  test('one file reads the real clock, and three use timers', () => {
    const CLOCKS = /\bDate\.now\b|\bperformance\.|\bnew Date\(\)|\bhrtime\b|\bTemporal\.Now\b/
    const TIMERS = /\bset(Timeout|Interval|Immediate)\b|node:timers/
    expect(containing(CLOCKS)).toEqual(['lib/real-time.ts'])
    // The second one replaces the timers of a client that is explored.
    expect(containing(TIMERS)).toEqual([
      'lib/real-time.ts',
      'simulator/clock/fake-timers.ts',
      'workbench/explore/run/client-globals.ts',
    ])
  })

  test('no file uses the random numbers of the platform, nor functions that engines round differently', () => {
    expect(containing(/\bMath\.random\b|\brandomUUID\b|\bgetRandomValues\b/)).toEqual([])
    expect(
      containing(/\bMath\.(log|log2|log10|exp|pow|sin|cos|tan|cbrt|sinh|expm1|log1p)\b|\*\*(?!\/)/).filter(path =>
        /^(lib|kernel|data|simulation|server\/control\/metrics)\//.test(path),
      ),
    ).toEqual([...POWERS_OF_TWO])
  })

  test('modules keep no state: their variables are constant', () => {
    const breaches: string[] = []
    for (const file of files) {
      for (const [i, line] of file.code.split('\n').entries()) {
        if (/^(export )?let /.test(line)) breaches.push(`${file.path}:${i + 1}: ${line}`)
      }
    }
    // The tokenizer is a pure function. The loader of TypeScript, the guard of `process.exit` and the configuration of the
    // command line belong to the process, and the session of the control room to its page.
    const ofTheProcess = [
      'cli/flags.ts',
      'service/openai/tokenizer.ts',
      'workbench/scenario/runner/import-script.ts',
      'workbench/scenario/runner/guards.ts',
      'server/page/store/session.ts',
    ]
    expect(breaches.filter(breach => !ofTheProcess.some(path => breach.startsWith(path)))).toEqual([])
  })

  test('modules keep no collections except caches of values that never change', () => {
    // A collection that is not read-only, an empty object, results by object, a static field.
    const KEPT =
      /^(?:export )?const (\w+)(?::(?! [Rr]eadonly)[^=]*)? = (?:new (?:Weak)?(?:Map|Set)\b|new Array\b|\[\]|\{\}|oncePer\b)/
    const STATIC = /^ {2}(?:private |public )?static (?!readonly|override|get\b|async\b|#?\w+[(<])/
    const found = files.flatMap(({ path, code }) =>
      code
        .split('\n')
        .map(line => KEPT.exec(line)?.[1] ?? (STATIC.test(line) ? line.trim() : undefined))
        .filter(name => name !== undefined)
        .map(name => `${path} ${name}`),
    )
    expect(found).toEqual([...CACHES])
  })
})

/**
 * Caches by an immutable key, by a file of the package, or by another file and the time of its last change: two worlds read
 * the same values.
 */
const CACHES: readonly string[] = [
  'cli/conform/schema-views.ts knownViews',
  'data/fixtures/examples.ts schemas',
  'data/fixtures/files.ts bundledFixtures',
  'data/fixtures/files.ts bundledProfiles',
  'data/fixtures/files.ts packageFolders',
  'data/fixtures/load.ts loadedFixtures',
  'data/fixtures/load.ts bundledWorlds',
  'data/fixtures/load.ts bundledBatches',
  'data/profiles/chain.ts parsedFiles',
  'data/profiles/load.ts loadedProfiles',
  'kernel/row.ts layouts',
  'service/endpoints/models/model-lists.ts toListJson',
  'service/http/compiled-operation.ts routers',
  'service/http/service.ts mappingOf',
  'service/http/service.ts neutralText',
  'service/http/service.ts vendorText',
  'service/models/catalog-json.ts cachedJson',
  'service/models/catalog-json.ts cachedPricedJson',
  'service/models/model-schemas.ts schemasOf',
  'service/naming/schema-shape.ts inputShape',
  'service/naming/schema-shape.ts outputShape',
  'service/naming/schema-shape.ts fieldsShape',
  'service/naming/vocabulary.ts paramsShape',
  'service/own-endpoints.ts withOwnEndpoints',
  'simulation/batches/fixture-content.ts parsedInputCache',
  'simulation/batches/fixture-content.ts fixtureFileContent',
  'simulation/deployments/instance-speed.ts hardwareOfPlan',
  'simulation/deployments/instance-speed.ts engineForChats',
  'simulation/deployments/instance-speed.ts shortageOf',
  'simulation/deployments/instance-startup.ts compiledFor',
  'simulation/fleet/weights.ts givenFigures',
  'simulation/fleet/weights.ts modelFigures',
  'simulation/store.ts variantsByType',
  'simulator/initial-worlds.ts sharedWorlds',
  'simulator/judge/answers/comparison.ts comparisonOf',
  'simulator/judge/answers/leaves.ts formOf',
  'simulator/judge/answers/leaves.ts isCollection',
  'simulator/judge/answers/losses.ts lossesOf',
  'simulator/judge/answers/run-answers.ts neededAnswers',
  'simulator/judge/answers/telling.ts formsOf',
  'simulator/judge/batch-rows.ts failedLines',
]
/** Files that use `2 ** n`, which is exact in every engine. */
const POWERS_OF_TWO = [
  'kernel/agenda.ts',
  'lib/real-time.ts',
  'simulation/deployments/deployment-failures.ts',
  'simulation/inference/webhooks.ts',
  'simulation/load/request-totals.ts',
  'simulation/rentals/rental-records.ts',
]

function containing(pattern: RegExp): string[] {
  return files.filter(file => pattern.test(withoutStrings(file.code))).map(file => file.path)
}

function withoutComments(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, comment => comment.replaceAll(/[^\n]/g, ''))
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1')
}

function withoutStrings(code: string): string {
  return code.replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''").replaceAll(/`(?:[^`\\$]|\\.)*`/g, '``')
}

test('the report of the public types has no member that is marked @internal', () => {
  const report = readFileSync(join(ROOT, 'tools/api/modelhost-sim.api.md'), 'utf8')
  const simulator = /^export interface Simulator \{\n(.*?)\n\}/ms.exec(report)![1]!
  expect(simulator).toContain('readonly token: string')
  expect(simulator).not.toMatch(/\b(?:world|api|timelines|onBug|answer|deliverFault|look|observe)\b\??[:(]/)
})
