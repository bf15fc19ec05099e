/** The names that come with the package. Editors complete them. `test/simulator/option-names.test.ts` compares them with the files. */

/** The worlds of the package. */
export const FIXTURE_NAMES = ['default', 'empty', 'fleet', 'full', 'two-nodes'] as const
export type FixtureName = (typeof FIXTURE_NAMES)[number]

/** The provider profiles of the package. */
export const PROFILE_NAMES = ['realistic', 'quick', 'rough'] as const
export type ProfileName = (typeof PROFILE_NAMES)[number]

/** A weather pack of the profiles of the package, or `none`. */
export type WeatherName =
  | 'none'
  | 'calm'
  | 'realistic'
  | 'rough'
  | 'office-day'
  | 'launch-day'
  | 'bad-week'
  | 'provider-incident'
  | 'payment-trouble'
