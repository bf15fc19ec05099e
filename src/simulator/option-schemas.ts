/** The schemas of options: as fields of `POST /_sim/worlds`, and as keys of a scenario's `given`. */
import type * as z from 'zod'
import { toSnakeCase } from '../lib/text/words.ts'
import { OPTIONS, type OptionDeclarations, type OptionName } from './options.ts'

type SnakeCase<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Text

type HttpOptionName = {
  [Name in OptionName]: OptionDeclarations[Name] extends { readonly http: z.ZodType } ? Name : never
}[OptionName]
type ScenarioOptionName = {
  [Name in OptionName]: OptionDeclarations[Name] extends { readonly scenario: z.ZodType } ? Name : never
}[OptionName]

type HttpFields = {
  [Name in HttpOptionName as SnakeCase<Name>]: z.ZodOptional<OptionDeclarations[Name]['http']>
}
type ScenarioKeys = { [Name in ScenarioOptionName]: z.ZodOptional<OptionDeclarations[Name]['scenario']> }

/** The options that can be set over HTTP, as optional fields of a body. */
export const OPTION_HTTP_FIELDS = Object.fromEntries(
  OPTIONS.flatMap(([name, { http }]) => (http === undefined ? [] : [[toSnakeCase(name), http.optional()]])),
) as HttpFields

/** The options that a scenario document can set, as optional keys. */
export const OPTION_SCENARIO_KEYS = Object.fromEntries(
  OPTIONS.flatMap(([name, { scenario }]) => (scenario === undefined ? [] : [[name, scenario.optional()]])),
) as ScenarioKeys
