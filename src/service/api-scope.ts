import type { CallerToken } from '../simulation/account/access/scoped-tokens.ts'
import type { World } from '../simulation/world.ts'
import type { VendorMapping } from './naming/translation.ts'
import type { ScriptedAnswer } from './openai/scripted-answers.ts'
import type { DeclaredEndpoint } from './openapi/json-schema.ts'

/** What handlers of the service's API get besides their input. */
export interface ApiScope {
  world: World
  /** The caller's token; undefined where the endpoint asks for none. */
  token: CallerToken | undefined
  /** What is answered in place of a model; undefined where nothing is scripted. */
  findScriptedAnswer: (model: string, words: string) => ScriptedAnswer | undefined
  /** Hosts beside loopback addresses that webhooks may have, each with an optional port. */
  webhookHosts: readonly string[]
  /** Returns the declaration of the endpoint that answers a method and a neutral path, or undefined. */
  findEndpoint: (method: string, path: string) => DeclaredEndpoint | undefined
  /** The names that the answer has; undefined for neutral names. */
  mapping: VendorMapping | undefined
}
