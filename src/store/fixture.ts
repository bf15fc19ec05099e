/** Fixtures: worlds to start from, read and checked once, then shared frozen. */
import { openFixture } from '#fixture-files'
import { DEFAULT_EPOCH_MS } from '../kernel/clock.ts'
import { nearestWord } from '../kernel/nearest.ts'
import { checkFixture, checkTimes } from './fixture-checks.ts'
import type { FixtureFiles } from './fixture-files.ts'
import { deepFreeze } from './freeze.ts'
import { parseJsonText } from './json-text.ts'
import { LoadTraceError, OfferedLoad, parseLoadTrace } from './load.ts'
import { jsonPath, problemsOf, WITHOUT_JIT } from './problems.ts'
import { Fixture, type FixtureInput } from './records.ts'

const MAX_LISTED_PROBLEMS = 10

/**
 * Records added to a fixture: lists are appended (pools and repositories too), the fields of `account` and the hub's
 * `policy` replace what stands there.
 */
export type FixturePatch = Partial<Omit<FixtureInput, 'account' | 'hub'>> & {
  account?: Partial<FixtureInput['account']>
  hub?: Partial<NonNullable<FixtureInput['hub']>>
}

export interface LoadOptions {
  /** Records beside those of the fixture, checked like them. */
  patch?: FixturePatch
  /** When the world begins, in milliseconds since the Unix epoch: no timestamp may be later. */
  epochMs?: number
}

/** A fixture that cannot be a world. The message names file, JSON path, what was expected and what to do. */
export class FixtureError extends Error {
  override readonly name = 'FixtureError'
  /** Every problem, `deployments.json: $[2].gpu: expected …`; the message shows the first ten. */
  readonly problems: readonly string[]

  constructor(message: string, problems: readonly string[]) {
    super(message)
    this.problems = problems
  }
}

/**
 * Loads a world to start from, frozen and completed with every default.
 *
 * @param source A name (`default`, `empty`, `fleet`, `full`, `two-nodes`), a folder's path, or the fixture itself.
 * @throws FixtureError naming every problem found
 * @example
 * loadFixture('empty', { patch: { deployments: [{ model_name: 'acme/chat', status: 'running' }] } })
 */
export function loadFixture(source: string | FixtureInput, options: LoadOptions = {}): Fixture {
  const { patch, epochMs = DEFAULT_EPOCH_MS } = options
  const report = new ProblemReport(source)
  let fixture = typeof source === 'string' ? loadFolder(source, report) : loadObject(source, report)
  report.throwIfAny()
  if (patch !== undefined) {
    fixture = applyPatch(fixture, patch, report)
    report.throwIfAny()
    checkFixture(fixture, report.add)
  }
  checkTimes(fixture, epochMs, report.add)
  report.throwIfAny()
  return fixture
}

/** The fixtures read so far, by folder: the one thing of this package that outlives a world. */
const loadedFixtures = new Map<string, { stamp: string; fixture: Fixture }>()

type FixtureKey = keyof Fixture
const FIXTURE_KEYS = Object.keys(Fixture.shape) as FixtureKey[]

/** Where the list of a key lies, for the keys that are an object around one. */
const LIST_FIELDS: Partial<Record<FixtureKey, string>> = { hub: 'repositories', nodes: 'pools' }

class ProblemReport {
  readonly #subject: string
  readonly #suffix: string
  readonly #problems: string[] = []
  /** How many records of each list stood there before the patch. */
  #lengthsBeforePatch: Partial<Record<FixtureKey, number>> = {}
  #patch: FixturePatch | undefined

  constructor(source: string | FixtureInput) {
    this.#subject = typeof source === 'string' ? `fixture '${source}'` : 'the fixture'
    this.#suffix = typeof source === 'string' ? '.json' : ''
  }

  /** From here on problems of appended records are told as those of the patch. */
  setPatch(fixture: Fixture, patch: FixturePatch): void {
    this.#patch = patch
    for (const key of FIXTURE_KEYS) {
      const list = listOf(key, fixture[key])
      if (list !== undefined) this.#lengthsBeforePatch[key] = list.length
    }
  }

  readonly add = (key: FixtureKey, path: readonly PropertyKey[], text: string): void => {
    const before = this.#lengthsBeforePatch[key]
    const depth = LIST_FIELDS[key] === undefined ? 0 : 1
    const position = path[depth]
    if (before !== undefined && typeof position === 'number' && position >= before) {
      this.addLine(`with.${key}: ${jsonPath(path.with(depth, position - before))}: ${text}`)
    } else if (key === 'account' && this.#patch?.account !== undefined && String(path[0]) in this.#patch.account) {
      this.addLine(`with.account: ${jsonPath(path)}: ${text}`)
    } else {
      this.addLine(`${key}${this.#suffix}: ${jsonPath(path)}: ${text}`)
    }
  }

  addLine(problem: string): void {
    this.#problems.push(problem)
  }

  throwIfAny(): void {
    const problems = this.#problems
    if (problems.length === 0) return
    const first = problems.slice(0, MAX_LISTED_PROBLEMS)
    const more = problems.length > first.length ? `\n  and ${problems.length - first.length} more` : ''
    const list =
      problems.length === 1
        ? problems[0]
        : `${problems.length} problems:\n${first.map(each => `  ${each}`).join('\n')}${more}`
    throw new FixtureError(`Failed to load ${this.#subject}: ${list}`, problems)
  }
}

function loadFolder(source: string, report: ProblemReport): Fixture {
  let files: FixtureFiles
  try {
    files = openFixture(source)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new FixtureError(message, [message])
  }
  const cached = loadedFixtures.get(files.folder)
  if (cached !== undefined && cached.stamp === files.stamp) return cached.fixture

  const raw: Partial<Record<FixtureKey, unknown>> = {}
  if (!files.names.includes('account.json')) {
    report.addLine('account.json: every fixture needs that file, and there is none. Add it.')
  }
  for (const key of FIXTURE_KEYS) {
    const text = files.names.includes(`${key}.json`) ? files.read(`${key}.json`) : undefined
    if (text === undefined) continue
    const parsed = parseJsonText(text)
    if ('value' in parsed) raw[key] = parsed.value
    else {
      const { line, column, reason } = parsed.fault
      report.addLine(`${key}.json: line ${line}, column ${column}: ${reason}. Fix the JSON there.`)
    }
  }
  checkFileNames(files, raw, report)
  report.throwIfAny()
  const fixture = parsed(raw, report)
  report.throwIfAny()
  readContents(fixture, files, report)
  report.throwIfAny()
  checkFixture(fixture, report.add)
  report.throwIfAny()
  loadedFixtures.set(files.folder, { stamp: files.stamp, fixture: deepFreeze(fixture) })
  return fixture
}

function loadObject(source: FixtureInput, report: ProblemReport): Fixture {
  for (const key of Object.keys(source)) {
    if (FIXTURE_KEYS.includes(key as FixtureKey)) continue
    const suggestion = nearestWord(key, FIXTURE_KEYS)
    report.addLine(
      `${key}: unknown field. ${suggestion === undefined ? 'Remove it.' : `Did you mean '${suggestion}'? Rename or remove it.`}`,
    )
  }
  const fixture = parsed(source, report)
  report.throwIfAny()
  checkFixture(fixture, report.add)
  report.throwIfAny()
  return deepFreeze(fixture)
}

function parsed(raw: Partial<Record<FixtureKey, unknown>>, report: ProblemReport): Fixture {
  const values: Partial<Record<FixtureKey, unknown>> = {}
  for (const key of FIXTURE_KEYS) {
    if (key === 'account' && raw[key] === undefined) {
      report.addLine('account: expected an object, got nothing. Add that field.')
      continue
    }
    const schema = Fixture.shape[key]
    const result = schema.safeParse(raw[key], WITHOUT_JIT)
    if (result.success) values[key] = result.data
    else for (const { path, text } of problemsOf(schema, raw[key], result.error)) report.add(key, path, text)
  }
  return values as Fixture
}

/** The names in the folder that no key asks for: a typo would else leave a list empty without a word. */
function checkFileNames(files: FixtureFiles, raw: Partial<Record<FixtureKey, unknown>>, report: ProblemReport): void {
  const entries = (list: unknown) => (Array.isArray(list) ? list : [])
  const contentPaths = [
    ...entries(raw.files).map(entry => String(entry?.path)),
    ...entries(raw.deployments).map(entry => String(entry?.load?.path)),
  ]
  for (const name of files.names) {
    if (name.startsWith('.') || /^readme(\.md|\.txt)?$/i.test(name)) continue
    if (FIXTURE_KEYS.some(key => name === `${key}.json`)) continue
    if (contentPaths.some(path => path === name || path.startsWith(`${name}/`) || path.startsWith(`./${name}`)))
      continue
    const suggestion = nearestWord(
      name,
      FIXTURE_KEYS.map(key => `${key}.json`),
    )
    const hint = suggestion === undefined ? 'Remove it.' : `Did you mean '${suggestion}'? Rename or remove it.`
    report.addLine(`${name}: unknown file. ${hint}`)
  }
}

function readContents(fixture: Fixture, files: FixtureFiles, report: ProblemReport): void {
  fixture.files = fixture.files.map((entry, position) => {
    if (entry.path === undefined) return entry
    const content = files.read(entry.path)
    if (content !== undefined) return { ...entry, content }
    report.add('files', [position, 'path'], describeMissingFile(entry.path))
    return entry
  })
  fixture.deployments = fixture.deployments.map((seed, position) => {
    if (seed.load?.kind !== 'trace' || seed.load.path === undefined || seed.load.text !== undefined) return seed
    const { path } = seed.load
    const text = files.read(path)
    if (text === undefined) {
      report.add('deployments', [position, 'load', 'path'], describeMissingFile(path))
      return seed
    }
    try {
      parseLoadTrace(text, path)
    } catch (error) {
      if (!(error instanceof LoadTraceError)) throw error
      report.addLine(`${path}: line ${error.line}: ${error.reason}. ${error.advice}.`)
      return seed
    }
    const load = OfferedLoad.safeParse({ ...seed.load, text }, WITHOUT_JIT)
    if (load.success) return { ...seed, load: load.data }
    for (const problem of problemsOf(OfferedLoad, seed.load, load.error)) {
      report.add('deployments', [position, 'load', ...problem.path], problem.text)
    }
    return seed
  })
}

function describeMissingFile(path: string): string {
  return `there is no file '${path}' below the fixture's folder. Add it, or fix the path.`
}

function applyPatch(base: Fixture, patch: FixturePatch, report: ProblemReport): Fixture {
  report.setPatch(base, patch)
  const merged: Partial<Record<FixtureKey, unknown>> = {}
  for (const [key, added] of Object.entries(patch) as [FixtureKey, unknown][]) {
    if (!FIXTURE_KEYS.includes(key)) {
      const suggestion = nearestWord(key, FIXTURE_KEYS)
      report.addLine(
        `with.${key}: unknown field. ${suggestion === undefined ? 'Remove it.' : `Did you mean '${suggestion}'? Rename or remove it.`}`,
      )
    } else if (added !== undefined) {
      const mergedValue = mergeRecords(key, base[key], added)
      const schema = Fixture.shape[key]
      const result = schema.safeParse(mergedValue, WITHOUT_JIT)
      if (result.success) merged[key] = result.data
      else for (const { path, text } of problemsOf(schema, mergedValue, result.error)) report.add(key, path, text)
    }
  }
  return deepFreeze({ ...base, ...(merged as Partial<Fixture>) })
}

function mergeRecords(key: FixtureKey, base: unknown, added: unknown): unknown {
  if (Array.isArray(base)) return Array.isArray(added) ? [...base, ...added] : added
  const list = LIST_FIELDS[key]
  if (typeof added !== 'object' || added === null) return added
  if (list === undefined) return { ...(base as object), ...added }
  const extra = (added as Record<string, unknown>)[list] ?? []
  if (!Array.isArray(extra)) return { ...(base as object), ...added }
  return { ...(base as object), ...added, [list]: [...(base as Record<string, unknown[]>)[list]!, ...extra] }
}

function listOf(key: FixtureKey, value: unknown): readonly unknown[] | undefined {
  const list = LIST_FIELDS[key]
  const inner = list === undefined ? value : (value as Record<string, unknown>)[list]
  return Array.isArray(inner) ? inner : undefined
}
