import { openProfile } from '#fixture-files'
import { isRecord, parseJsonText } from '../../lib/json-text.ts'
import { describeWrongValue, formatValue } from '../../lib/zod-problems.ts'
import type { ProfileFile } from '../fixtures/files.ts'
import { ProfileError } from './problems.ts'
import type { ProfileInput } from './schema.ts'

/** The profile that a profile extends if it names no other one. */
export const DEFAULT_PROFILE = 'realistic'

/** Parsed files by path. */
const parsedFiles = new Map<string, { readonly stamp: string; readonly text: string; readonly raw: unknown }>()

/** One profile of a chain, as written. */
export interface ProfileLayer {
  /** The name of the profile in problems. */
  readonly label: string
  readonly raw: unknown
}

/** A profile and the profiles that it extends, parsed and not yet checked. */
export class ProfileChain {
  readonly subject: string
  /** The files of the chain. The last one has no `extends`. */
  readonly #files: ProfileFile[] = []
  /** The texts of the files. */
  readonly #texts: string[] = []
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
      if ('problem' in file) {
        throw this.#failure(`${label}: $.extends: expected a profile, got ${formatValue(base)}: ${file.problem}`)
      }
      const repeatIndex = this.#files.findIndex(each => each.path === file.path)
      if (repeatIndex >= 0) {
        const cycle = [...this.#files.slice(repeatIndex), file].map(each => each.label).join(' → ')
        throw this.#failure(
          `${label}: $.extends: expected a profile that does not extend this one, got ${formatValue(base)}: ${cycle} is a ` +
            `cycle. Extend '${DEFAULT_PROFILE}', or null, in one of them.`,
        )
      }
      base = this.#add(file)
    }
  }

  /** Each layer overrides the layers before it. */
  get layers(): readonly ProfileLayer[] {
    return [...this.#layers].reverse()
  }

  /** The name of a profile that has no field `name`. */
  get name(): string {
    return this.#isObject ? 'custom' : this.#files[0]!.name
  }

  get cacheKey(): string {
    return this.#files[0]?.path ?? ''
  }

  /** Changes when any file of the chain changes. Undefined for a profile that is an object. */
  get stamp(): string | undefined {
    return this.#isObject ? undefined : this.#files.map(file => `${file.path}:${file.stamp}`).join('|')
  }

  /** The profile as JSON, as the build stored it. Undefined unless it is a bundled profile whose files are unchanged. */
  readChecked(): string | undefined {
    return this.#isObject ? undefined : this.#files[0]!.readChecked(this.#texts)
  }

  /** The texts of the files of the chain. */
  get texts(): readonly string[] {
    return this.#texts
  }

  #add(file: ProfileFile): string | null {
    const { text, raw } = this.#parse(file)
    this.#files.push(file)
    this.#texts.push(text)
    this.#layers.push({ label: file.label, raw })
    return this.#baseOf(file.label, raw)
  }

  #parse(file: ProfileFile): { readonly text: string; readonly raw: unknown } {
    const cached = parsedFiles.get(file.path)
    if (cached !== undefined && cached.stamp === file.stamp) return cached
    const text = file.read()
    const parsed = parseJsonText(text, true)
    if ('fault' in parsed) {
      const { line, column, reason } = parsed.fault
      throw this.#failure(`${file.label}: line ${line}, column ${column}: ${reason}. Fix the JSON there.`)
    }
    const parsedFile = { stamp: file.stamp, text, raw: parsed.value }
    parsedFiles.set(file.path, parsedFile)
    return parsedFile
  }

  #baseOf(label: string, raw: unknown): string | null {
    if (!isRecord(raw)) throw this.#failure(`${label}: $: ${describeWrongValue('an object', raw)}`)
    const { extends: base = DEFAULT_PROFILE } = raw
    if (base === null || (typeof base === 'string' && base !== '')) return base
    throw this.#failure(`${label}: $.extends: ${describeWrongValue('the name or path of a profile, or null', base)}`)
  }

  #failure(problem: string): ProfileError {
    return new ProfileError(this.subject, [problem])
  }
}
