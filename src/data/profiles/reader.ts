import { isRecord } from '../../lib/json-text.ts'
import { describeUnknownField } from '../../lib/known-keys.ts'
import { describeWrongValue, formatValue, type Problem } from '../../lib/zod-problems.ts'
import type { ProfileLayer } from './chain.ts'
import type { ProblemReport } from './problems.ts'
import { NamedSections, type ProfileSection, ProfileSetting, toCamelCase } from './setting.ts'
import { readSetting } from './setting-kinds.ts'

const TOP_LEVEL_FIELDS = ['$schema', 'name', 'extends', 'description']

/** Merges the layers of a profile, section by section. */
export class ProfileReader {
  readonly sources: Record<string, string> = {}
  readonly #report: ProblemReport

  constructor(report: ProblemReport) {
    this.#report = report
  }

  /** @param parentLabel the profile that is blamed for a missing section */
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
    // An object that gets so many fields one by one is a hash table, and every event reads it.
    return Object.fromEntries(
      Object.entries(shape).map(([key, part]) => {
        const layersBelow = objectLayers.flatMap(({ label, raw }) =>
          raw[key] === undefined ? [] : [{ label, raw: raw[key] }],
        )
        return [toCamelCase(key), this.#readPart(part, layersBelow, [...path, key], label)]
      }),
    )
  }

  #readPart(part: ProfileSection[string], layers: readonly ProfileLayer[], path: readonly string[], label: string) {
    if (part instanceof ProfileSetting) return this.#readSetting(part, layers, path, label)
    if (part instanceof NamedSections) return this.#readNamed(part, layers, path)
    return this.readSection(part as ProfileSection, layers, path, label)
  }

  /** Reads a text beside the sections. It is not inherited: only the last layer counts. */
  readText(key: 'name' | 'description', layers: readonly ProfileLayer[]): string | undefined {
    const { label, raw } = layers.at(-1)!
    const value = (raw as Readonly<Record<string, unknown>>)[key]
    if (value === undefined || typeof value === 'string') return value
    this.#report.add(label, [key], describeWrongValue('a string', value))
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
        const text = `expected a name of lower-case letters, digits and dashes other than 'none', got ${formatValue(name)}. Rename it.`
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

  /**
   * Blames the last layer that has the setting. If another layer has the wrong field, the problem names that layer too.
   */
  #addProblem(problem: Problem, layers: readonly ProfileLayer[], path: readonly string[], parentLabel: string): void {
    const last = layers.at(-1)
    const field = problem.path[0]
    const writer = layers.findLast(({ raw }) => {
      const { value } = splitSource(raw)
      return field === undefined || (isRecord(value) && Object.hasOwn(value, field))
    })
    const inherited = writer !== undefined && writer !== last ? ` (The value is from ${writer.label}.)` : ''
    this.#report.add(last?.label ?? parentLabel, [...path, ...problem.path], `${problem.text}${inherited}`)
  }

  #readSourced(label: string, raw: unknown, path: readonly string[]): { value: unknown; source?: string } | undefined {
    const { value, source, others } = splitSource(raw)
    for (const key of others) this.#addUnknownField(label, [...path, key], key, ['value', 'source'])
    if (others.length > 0) return undefined
    if (value === undefined) {
      const text = 'expected the value of the setting beside its source, got nothing. Add that field.'
      this.#report.add(label, [...path, 'value'], text)
      return undefined
    }
    if (source === undefined) return { value }
    if (typeof source === 'string' && source.trim() !== '') return { value, source }
    const text = describeWrongValue('a text that names the source of the value', source)
    this.#report.add(label, [...path, 'source'], text)
    return undefined
  }

  #objectLayers(
    layers: readonly ProfileLayer[],
    path: readonly string[],
  ): readonly { readonly label: string; readonly raw: Readonly<Record<string, unknown>> }[] {
    return layers.flatMap(({ label, raw }) => {
      if (isRecord(raw)) return [{ label, raw }]
      this.#report.add(label, path, describeWrongValue('an object', raw))
      return []
    })
  }

  #addUnknownField(label: string, path: readonly string[], key: string, known: readonly string[]): void {
    this.#report.add(label, path, describeUnknownField(key, known))
  }
}

/** Separates a value from its source. No kind of setting has a field `value` or `source` of its own. */
function splitSource(raw: unknown): { value: unknown; source?: unknown; others: readonly string[] } {
  if (!isRecord(raw) || !(Object.hasOwn(raw, 'value') || Object.hasOwn(raw, 'source')))
    return { value: raw, others: [] }
  const others = Object.keys(raw).filter(key => key !== 'value' && key !== 'source')
  return { value: raw.value, source: raw.source, others }
}
