/** Provider profiles: the figures and policies of a service, as data. Read and checked once, then shared frozen. */

import * as z from 'zod'
import { openProfile } from '#fixture-files'
import { deepFreeze } from '../../lib/deep-freeze.ts'
import { nearestWord } from '../../lib/did-you-mean.ts'
import { parseJsonText } from '../../lib/json-text.ts'
import { describeUnknownField } from '../../lib/known-keys.ts'
import { formatValue, jsonPath, type Problem } from '../../lib/zod-problems.ts'
import type { ProfileFile } from '../fixtures/files.ts'
import { isRecord, readSetting, type SettingKind } from './figures.ts'
import {
  NamedSections,
  PROFILE_SECTIONS,
  type Profile,
  type ProfileInput,
  type ProfileSection,
  ProfileSetting,
} from './schema.ts'

export type {
  Limits,
  Policies,
  Prices,
  Profile,
  ProfileInput,
  Reviews,
  Timings,
  Weather,
  WeatherPack,
} from './schema.ts'

/** The profile that stands below every one that names no other. */
export const DEFAULT_PROFILE = 'realistic'

const MAX_LISTED_PROBLEMS = 10
const TOP_LEVEL_FIELDS = ['$schema', 'name', 'extends', 'description']

/** A profile that makes no sense. The message names file, JSON path, what was expected, why and what to do. */
export class ProfileError extends Error {
  override readonly name = 'ProfileError'
  /** Every problem, `lab.json: $.timings.drain: expected …`; the message shows the first ten. */
  readonly problems: readonly string[]

  constructor(subject: string, problems: readonly string[]) {
    const first = problems.slice(0, MAX_LISTED_PROBLEMS).map(each => `\n  ${each}`)
    const more = problems.length > first.length ? `\n  and ${problems.length - first.length} more` : ''
    const list = problems.length === 1 ? problems[0] : `${problems.length} problems:${first.join('')}${more}`
    super(`Failed to load ${subject}: ${list}`)
    this.problems = problems
  }
}

/** Profiles by the files they were read from, and the state of these. */
const loadedProfiles = new Map<string, { readonly stamp: string; readonly profile: Profile }>()
const parsedFiles = new Map<string, { readonly stamp: string; readonly raw: unknown }>()

/**
 * Loads a provider profile, complete and deeply frozen: times in microseconds, rates in bytes/s, prices in cents.
 *
 * A profile extends another one, by name or path, and names only what differs. Sections merge figure by figure, and so
 * do the fields of one distribution; lists are replaced. A figure is a plain value or `{ "value": …, "source": "…" }`.
 *
 * @param source A name (`realistic`, `quick`, `rough`), the path of a JSON file, or the profile itself.
 * @throws ProfileError naming every problem found
 * @example
 * loadProfile({ extends: 'quick', timings: { image_pull: { median: '60s' } }, policies: { idle_to_zero: 'stopped' } })
 */
export function loadProfile(source: string | ProfileInput = DEFAULT_PROFILE): Profile {
  const chain = new ProfileChain(source)
  const { stamp } = chain
  const cached = stamp === undefined ? undefined : loadedProfiles.get(chain.cacheKey)
  if (cached !== undefined && cached.stamp === stamp) return cached.profile

  const layers = chain.layers
  const report = new ProblemReport(chain.subject)
  const reader = new ProfileReader(report)
  const sections = reader.readSection(PROFILE_SECTIONS, layers, [], layers.at(-1)!.label)
  const name = reader.readText('name', layers) ?? chain.name
  const description = reader.readText('description', layers) ?? ''
  report.throwIfAny()
  const profile = deepFreeze({
    ...(sections as Omit<Profile, 'name' | 'description' | 'sources'>),
    name,
    description,
    sources: reader.sources,
  })
  checkConsistency(profile, layers, report)
  report.throwIfAny()
  if (stamp !== undefined) loadedProfiles.set(chain.cacheKey, { stamp, profile })
  return profile
}

/** What blows where it is not the profile that says so. */
export interface WeatherOptions {
  /** `none`, or a pack of the profile. */
  readonly weather?: string | undefined
  /** How many times as often as the pack has it. */
  readonly acceleration?: number | undefined
}

/**
 * A profile under another weather.
 *
 * @throws RangeError when the profile has no pack of that name, with the nearest
 * @example loadProfile(underWeather('quick', { weather: 'launch-day' }))
 */
export function withWeather(
  source: string | ProfileInput = DEFAULT_PROFILE,
  { weather, acceleration }: WeatherOptions = {},
): string | ProfileInput {
  if (weather === undefined && acceleration === undefined) return source
  const { name, description, weather: profileWeather } = loadProfile(source)
  const packs = ['none', ...Object.keys(profileWeather.packs)]
  if (weather !== undefined && !packs.includes(weather)) {
    const suggestion = nearestWord(String(weather), packs)
    throw new RangeError(
      `Failed to find the weather '${weather}': ${suggestion ? `did you mean '${suggestion}'?` : 'the profile has no such pack.'} ` +
        `Packs are ${packs.join(', ')}.`,
    )
  }
  const changes = {
    ...(weather !== undefined && { pack: weather }),
    ...(acceleration !== undefined && { acceleration }),
  }
  if (typeof source !== 'string') return { ...source, weather: { ...source.weather, ...changes } }
  return { extends: source, name, description, weather: changes }
}

/** JSON Schema (2020-12) of a profile's file, so that an editor completes and checks it as it is written. */
export function profileJsonSchema(): Record<string, unknown> {
  const definitions: Record<string, unknown> = {}
  const sections = schemaOf(PROFILE_SECTIONS, definitions) as { properties: Record<string, unknown> }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Provider profile of modelhost-sim',
    type: 'object',
    properties: {
      $schema: { type: 'string' },
      name: { type: 'string', description: 'How the profile calls itself.' },
      extends: {
        type: ['string', 'null'],
        description: `The profile below this one, by name or path; '${DEFAULT_PROFILE}' where it is left out, null for none.`,
      },
      description: { type: 'string' },
      ...sections.properties,
    },
    additionalProperties: false,
    $defs: definitions,
  }
}

/** One profile of a chain, as it was written. */
interface ProfileLayer {
  /** How problems call it. */
  readonly label: string
  readonly raw: unknown
}

/** A profile and those it extends. */
class ProfileChain {
  readonly subject: string
  /** The files of the chain, the lowest last. */
  readonly #files: ProfileFile[] = []
  readonly #layers: ProfileLayer[] = []
  readonly #isObject: boolean

  constructor(source: string | ProfileInput) {
    this.#isObject = typeof source !== 'string'
    this.subject = typeof source === 'string' ? `profile '${source}'` : 'the profile'
    let base: string | null
    if (typeof source === 'string') {
      const file = openProfile(source)
      if ('problem' in file) throw new ProfileError(this.subject, [file.problem])
      base = this.#add(file)
    } else {
      this.#layers.push({ label: 'profile', raw: source })
      base = this.#baseOf('profile', source)
    }
    while (base !== null) {
      const { label } = this.#layers.at(-1)!
      const file = openProfile(base, this.#files.at(-1))
      if ('problem' in file) throw this.#failure(`${label}: $.extends: ${file.problem}`)
      const repeatIndex = this.#files.findIndex(each => each.path === file.path)
      if (repeatIndex >= 0) {
        const cycle = [...this.#files.slice(repeatIndex), file].map(each => each.label).join(' → ')
        throw this.#failure(
          `${label}: $.extends: expected a profile that does not extend this one, got ${formatValue(base)}: ${cycle} has no ` +
            `end. Let one of them extend '${DEFAULT_PROFILE}', or null.`,
        )
      }
      base = this.#add(file)
    }
  }

  /** Lowest first: each one writes over those before it. */
  get layers(): readonly ProfileLayer[] {
    return [...this.#layers].reverse()
  }

  /** What it is when it has no name of its own. */
  get name(): string {
    return this.#isObject ? 'custom' : this.#files[0]!.name
  }

  get cacheKey(): string {
    return this.#files[0]?.path ?? ''
  }

  /** Changes when any file of the chain does; an object has none. */
  get stamp(): string | undefined {
    return this.#isObject ? undefined : this.#files.map(file => `${file.path}:${file.stamp}`).join('|')
  }

  #add(file: ProfileFile): string | null {
    const raw = this.#parse(file)
    this.#files.push(file)
    this.#layers.push({ label: file.label, raw })
    return this.#baseOf(file.label, raw)
  }

  #parse(file: ProfileFile): unknown {
    const cached = parsedFiles.get(file.path)
    if (cached !== undefined && cached.stamp === file.stamp) return cached.raw
    const parsed = parseJsonText(file.read())
    if ('fault' in parsed) {
      const { line, column, reason } = parsed.fault
      throw this.#failure(`${file.label}: line ${line}, column ${column}: ${reason}. Fix the JSON there.`)
    }
    parsedFiles.set(file.path, { stamp: file.stamp, raw: parsed.value })
    return parsed.value
  }

  #baseOf(label: string, raw: unknown): string | null {
    if (!isRecord(raw)) throw this.#failure(`${label}: $: expected an object, got ${formatValue(raw)}. Fix that value.`)
    const { extends: base = DEFAULT_PROFILE } = raw
    if (base === null || (typeof base === 'string' && base !== '')) return base
    throw this.#failure(
      `${label}: $.extends: expected the name or path of a profile, or null, got ${formatValue(base)}. Fix that value.`,
    )
  }

  #failure(problem: string): ProfileError {
    return new ProfileError(this.subject, [problem])
  }
}

class ProblemReport {
  readonly #subject: string
  readonly #problems: string[] = []

  constructor(subject: string) {
    this.#subject = subject
  }

  add(label: string, path: readonly PropertyKey[], text: string): void {
    this.#problems.push(`${label}: ${jsonPath(path)}: ${text}`)
  }

  throwIfAny(): void {
    if (this.#problems.length > 0) throw new ProfileError(this.#subject, this.#problems)
  }
}

/** Reads the layers of a profile into one, section by section. */
class ProfileReader {
  readonly sources: Record<string, string> = {}
  readonly #report: ProblemReport

  constructor(report: ProblemReport) {
    this.#report = report
  }

  /** @param parentLabel The profile to which what is missing here is told. */
  readSection(
    shape: ProfileSection,
    layers: readonly ProfileLayer[],
    path: readonly string[],
    parentLabel: string,
  ): Record<string, unknown> {
    if (layers.length === 0) this.#report.add(parentLabel, path, 'expected an object, got nothing. Add that field.')
    const objectLayers = this.#objectLayers(layers, path)
    const label = objectLayers.at(-1)?.label
    if (label === undefined) return {}
    const known = Object.keys(shape)
    const otherFields = path.length === 0 ? TOP_LEVEL_FIELDS : []
    for (const { label, raw } of objectLayers) {
      for (const key of Object.keys(raw)) {
        if (!known.includes(key) && !otherFields.includes(key)) this.#addUnknownField(label, [...path, key], key, known)
      }
    }
    const values: Record<string, unknown> = {}
    for (const [key, part] of Object.entries(shape)) {
      const layersBelow = objectLayers.flatMap(({ label, raw }) =>
        raw[key] === undefined ? [] : [{ label, raw: raw[key] }],
      )
      const place = [...path, key]
      if (part instanceof ProfileSetting) values[toCamelCase(key)] = this.#readSetting(part, layersBelow, place, label)
      else if (part instanceof NamedSections) values[toCamelCase(key)] = this.#readNamed(part, layersBelow, place)
      else values[toCamelCase(key)] = this.readSection(part as ProfileSection, layersBelow, place, label)
    }
    return values
  }

  /** A text beside the sections: only the uppermost profile's counts. */
  readText(key: 'name' | 'description', layers: readonly ProfileLayer[]): string | undefined {
    const { label, raw } = layers.at(-1)!
    const value = (raw as Readonly<Record<string, unknown>>)[key]
    if (value === undefined || typeof value === 'string') return value
    this.#report.add(label, [key], `expected a string, got ${formatValue(value)}. Fix that value.`)
    return undefined
  }

  #readNamed(
    part: NamedSections<ProfileSection>,
    layers: readonly ProfileLayer[],
    path: readonly string[],
  ): Record<string, unknown> {
    const objectLayers = this.#objectLayers(layers, path)
    const values: Record<string, unknown> = {}
    for (const name of new Set(objectLayers.flatMap(({ raw }) => Object.keys(raw)))) {
      const layersBelow = objectLayers.flatMap(({ label, raw }) =>
        raw[name] === undefined ? [] : [{ label, raw: raw[name] }],
      )
      const label = layersBelow.at(-1)?.label
      if (label === undefined) continue
      if (name === 'none' || !/^[a-z][a-z0-9-]*$/.test(name)) {
        const text = `expected a name of small letters, digits and dashes other than 'none', got ${formatValue(name)}. Rename it.`
        this.#report.add(label, [...path, name], text)
      } else values[name] = this.readSection(part.shape, layersBelow, [...path, name], label)
    }
    return values
  }

  #readSetting(
    setting: ProfileSetting<unknown, unknown>,
    layers: readonly ProfileLayer[],
    path: readonly string[],
    parentLabel: string,
  ): unknown {
    const { kind, defaultValue: fallback } = setting
    let merged: unknown
    let source: string | undefined
    for (const { label, raw } of layers) {
      const sourced = this.#readSourced(label, raw, path)
      if (sourced === undefined) return undefined
      merged = merged === undefined ? sourced.value : kind.merge(merged, sourced.value)
      source = sourced.source
    }
    if (merged === undefined) merged = fallback
    const result = readSetting(kind, merged)
    if ('value' in result) {
      if (source !== undefined) this.sources[path.join('.')] = source
      return result.value
    }
    for (const problem of result.problems) this.#addProblem(problem, layers, path, parentLabel)
    return undefined
  }

  /** A problem is the uppermost profile's that wrote the figure, even where one below wrote the field in question. */
  #addProblem(problem: Problem, layers: readonly ProfileLayer[], path: readonly string[], parentLabel: string): void {
    const last = layers.at(-1)
    const field = problem.path[0]
    const writer = layers.findLast(({ raw }) => {
      const { value } = splitSource(raw)
      return field === undefined || (isRecord(value) && Object.hasOwn(value, field))
    })
    const inherited = writer !== undefined && writer !== last ? ` (It stands so in ${writer.label}.)` : ''
    this.#report.add(last?.label ?? parentLabel, [...path, ...problem.path], `${problem.text}${inherited}`)
  }

  #readSourced(label: string, raw: unknown, path: readonly string[]): { value: unknown; source?: string } | undefined {
    const { value, source, others } = splitSource(raw)
    for (const key of others) this.#addUnknownField(label, [...path, key], key, ['value', 'source'])
    if (others.length > 0) return undefined
    if (value === undefined) {
      const text = 'expected the figure beside its source, got nothing. Add that field.'
      this.#report.add(label, [...path, 'value'], text)
      return undefined
    }
    if (source === undefined) return { value }
    if (typeof source === 'string' && source.trim() !== '') return { value, source }
    const text = `expected a text that says where the figure is from, got ${formatValue(source)}. Fix that value.`
    this.#report.add(label, [...path, 'source'], text)
    return undefined
  }

  #objectLayers(
    layers: readonly ProfileLayer[],
    path: readonly string[],
  ): readonly { readonly label: string; readonly raw: Readonly<Record<string, unknown>> }[] {
    return layers.flatMap(({ label, raw }) => {
      if (isRecord(raw)) return [{ label, raw }]
      this.#report.add(label, path, `expected an object, got ${formatValue(raw)}. Fix that value.`)
      return []
    })
  }

  #addUnknownField(label: string, path: readonly string[], key: string, known: readonly string[]): void {
    this.#report.add(label, path, describeUnknownField(key, known))
  }
}

/** What no figure shows alone. */
function checkConsistency(profile: Profile, layers: readonly ProfileLayer[], report: ProblemReport): void {
  const { timings, weather } = profile
  const minLoadTime = timings.loadFixed + (timings.warmUp.sigma === 0 ? timings.warmUp.median : 0)
  if (timings.readyWithin <= minLoadTime) {
    const label = lastLabelNaming(layers, [
      ['timings', 'ready_within'],
      ['timings', 'load_fixed'],
      ['timings', 'warm_up'],
    ])
    const text =
      `expected more than load_fixed + warm_up, ${minLoadTime / 1e6} s, got ${timings.readyWithin / 1e6} s: no instance would ` +
      'be ready in time. Raise it, or lower these.'
    report.add(label, ['timings', 'ready_within'], text)
  }
  if (timings.imageBytes > timings.imageCacheBytes) {
    const paths = [
      ['timings', 'image_bytes'],
      ['timings', 'image_cache_bytes'],
    ] as const
    const text =
      `expected at most image_cache_bytes, ${timings.imageCacheBytes}, got ${timings.imageBytes}: no image would stay on ` +
      'a node. Lower it, or raise that.'
    report.add(lastLabelNaming(layers, paths), ['timings', 'image_bytes'], text)
  }
  const names = ['none', ...Object.keys(weather.packs)]
  if (!names.includes(weather.pack)) {
    const suggestion = nearestWord(weather.pack, names)
    const text =
      `expected one of ${names.map(formatValue).join(', ')}, got ${formatValue(weather.pack)}.` +
      `${suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`} Fix that value.`
    report.add(lastLabelNaming(layers, [['weather', 'pack']]), ['weather', 'pack'], text)
  }
}

function lastLabelNaming(layers: readonly ProfileLayer[], paths: readonly (readonly [string, string])[]): string {
  const layer = layers.findLast(({ raw }) =>
    paths.some(([section, key]) => {
      const inner = (raw as Readonly<Record<string, unknown>>)[section]
      return isRecord(inner) && inner[key] !== undefined
    }),
  )
  return (layer ?? layers.at(-1)!).label
}

/** A figure apart from its source. No figure has a field `value` or `source` of its own. */
function splitSource(raw: unknown): { value: unknown; source?: unknown; others: readonly string[] } {
  if (!isRecord(raw) || !(Object.hasOwn(raw, 'value') || Object.hasOwn(raw, 'source')))
    return { value: raw, others: [] }
  const others = Object.keys(raw).filter(key => key !== 'value' && key !== 'source')
  return { value: raw.value, source: raw.source, others }
}

/** `zone_outage_lasts` is `zoneOutageLasts`: files are written in snake case, code in camel case. */
export function toCamelCase(key: string): string {
  return key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function schemaOf(part: ProfileSection[string], definitions: Record<string, unknown>): unknown {
  if (part instanceof ProfileSetting) {
    const { kind, meaning } = part
    const reference = `#/$defs/${kind.name}`
    definitions[kind.name] ??= definitionOf(kind)
    const value = { $ref: reference }
    const withSource = {
      type: 'object',
      properties: { value, source: { type: 'string', description: 'Where the figure was taken from.' } },
      required: ['value', 'source'],
      additionalProperties: false,
    }
    return { description: meaning, anyOf: [value, withSource] }
  }
  if (part instanceof NamedSections) {
    return { type: 'object', additionalProperties: schemaOf(part.shape, definitions) }
  }
  const properties = Object.fromEntries(
    Object.entries(part as ProfileSection).map(([key, inner]) => [key, schemaOf(inner, definitions)]),
  )
  return { type: 'object', properties, additionalProperties: false }
}

/** A figure may name some fields and inherit the others, so none is required. */
function definitionOf(kind: SettingKind<unknown, unknown>): unknown {
  const forms = kind.schemas.map(form => {
    const { $schema: _, required: __, ...json } = z.toJSONSchema(form, { io: 'input' })
    return json
  })
  return forms.length === 1 ? forms[0] : { anyOf: forms }
}
