/** The names that come with the package, so that editors complete them. `test/simulator/option-names.test.ts` compares. */

/** A world of the package. */
export type FixtureName = 'default' | 'empty' | 'fleet' | 'full' | 'two-nodes'

/** A provider profile of the package. */
export type ProfileName = 'realistic' | 'quick' | 'rough'

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
