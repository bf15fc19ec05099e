import type { SettingKind } from './setting-kinds.ts'

/** One setting of a profile: a leaf of its file. */
export class ProfileSetting<In, Out> {
  readonly kind: SettingKind<In, Out>
  /** The description in the docs. */
  readonly meaning: string
  /** The value if no profile names the setting. Undefined: a profile without `extends` must name it. */
  readonly defaultValue: NoInfer<In> | undefined

  constructor(kind: SettingKind<In, Out>, meaning: string, fallback?: NoInfer<In>) {
    this.kind = kind
    this.meaning = meaning
    this.defaultValue = fallback
  }
}

/** Sections of one shape under names that the profile chooses. */
export class NamedSections<Shape extends ProfileSection> {
  readonly shape: Shape
  constructor(shape: Shape) {
    this.shape = shape
  }
}

export interface ProfileSection {
  // biome-ignore lint/suspicious/noExplicitAny: the kinds of settings have different types
  readonly [key: string]: ProfileSetting<any, any> | NamedSections<ProfileSection> | ProfileSection
}

/** The type of the result of `toCamelCase`. */
type CamelCase<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name

/** A setting in a file: a plain value, or a value with its source. */
export type SourcedValue<In> = In | { value: In; source: string }

export type SectionInput<Part> =
  Part extends ProfileSetting<infer In, unknown>
    ? SourcedValue<In>
    : Part extends NamedSections<infer Shape>
      ? { [name: string]: SectionInput<Shape> }
      : { -readonly [Key in keyof Part]?: SectionInput<Part[Key]> }

export type SectionOutput<Part> =
  Part extends ProfileSetting<unknown, infer Out>
    ? Out
    : Part extends NamedSections<infer Shape>
      ? { readonly [name: string]: SectionOutput<Shape> }
      : { readonly [Key in keyof Part as CamelCase<Key>]: SectionOutput<Part[Key]> }

export function setting<In, Out>(
  kind: SettingKind<In, Out>,
  meaning: string,
  fallback?: NoInfer<In>,
): ProfileSetting<In, Out> {
  return new ProfileSetting(kind, meaning, fallback)
}

/** Returns the name of a setting in code, as in `zoneOutageLasts` for `zone_outage_lasts` of a file. */
export function toCamelCase(key: string): string {
  return key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
