/** The settings of a provider profile, each with its meaning and its source. */
import { NO_CAP } from '../../src/data/profiles/distribution.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import { PROFILE_SECTIONS } from '../../src/data/profiles/schema.ts'
import { NamedSections, type ProfileSection, ProfileSetting, toCamelCase } from '../../src/data/profiles/setting.ts'
import {
  bytes,
  duration,
  durations,
  period,
  rate,
  rateDistribution,
  timeDistribution,
  warmUp,
} from '../../src/data/profiles/setting-kinds.ts'
import { formatDuration } from '../../src/kernel/duration.ts'
import { toSnakeCase } from '../../src/lib/text/words.ts'

export interface SettingRow {
  /** The place in the file, as in `timings.image_pull`. */
  readonly place: string
  readonly value: string
  readonly meaning: string
  readonly source: string
}

/** Returns the settings of a profile, those that it inherits included. */
export function settingRows(name: string): SettingRow[] {
  const profile = loadProfile(name)
  const rows: SettingRow[] = []
  const walk = (section: ProfileSection, values: object, place: string) => {
    for (const [key, part] of Object.entries(section)) {
      const at = place === '' ? key : `${place}.${key}`
      const value = (values as Record<string, unknown>)[key] ?? (values as Record<string, unknown>)[toCamelCase(key)]
      if (part instanceof ProfileSetting) {
        const source = profile.sources[at] ?? '(changed by this profile, without a source)'
        rows.push({ place: at, value: formatSetting(part, value), meaning: part.meaning, source })
      } else if (part instanceof NamedSections) {
        for (const [one, of] of Object.entries(value as object)) walk(part.shape, of as object, `${at}.${one}`)
      } else walk(part, value as object, at)
    }
  }
  walk(PROFILE_SECTIONS, profile, '')
  // A rate of 0 is the default of a pack, and most rates of most packs are 0.
  return rows.filter(
    ({ place, value }) => !place.startsWith('weather.packs.') || (value !== '0' && !/^none 1\b/.test(value)),
  )
}

const TIMES: readonly unknown[] = [duration, period, durations, timeDistribution, warmUp]
const RATES: readonly unknown[] = [rate, rateDistribution]

/** Returns the value as a profile writes it, with units. A distribution without a cap shows none. */
function formatSetting({ kind }: ProfileSetting<unknown, unknown>, value: unknown): string {
  const unit = TIMES.includes(kind)
    ? (micros: number) => (micros === 0 ? '0s' : formatDuration(micros).replace(' ', ''))
    : RATES.includes(kind)
      ? (perSecond: number) => `${perSecond / 1e6}MB/s`
      : kind === bytes
        ? (count: number) => `${count / 1e9}GB`
        : String
  const formatPart = (one: unknown, key = ''): string => {
    if (Array.isArray(one)) return one.map(item => formatPart(item)).join(', ')
    if (typeof one === 'object' && one !== null) {
      return Object.entries(one)
        .filter(([, item]) => item !== undefined && item !== NO_CAP)
        .map(([name, item]) => `${toSnakeCase(name)} ${formatPart(item, name)}`)
        .join(', ')
    }
    // The sigma of a lognormal has no unit.
    return typeof one === 'number' && key !== 'sigma' ? unit(one) : String(one)
  }
  return formatPart(value)
}
