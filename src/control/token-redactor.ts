import { hideSecretsInQuery } from '../evidence/requests/secrets.ts'
import type { Simulator } from '../simulator/simulator.ts'

/** A scoped token in a text. The colon of a query can be escaped. */
const SCOPED_TOKEN = /jwt(?::|%3A)[\w-]+\.[\w-]+\.[\w-]*([\w-]{4})/gi

/**
 * Returns a function that shortens the API tokens in a text, and hides other credentials of a query: the path of a request
 * may contain them.
 */
export function tokenRedactor(sim: Simulator): (text: string) => string {
  const { store, apiTokens } = sim.world
  const values = [...store.tokens.all().map(({ token }) => token), ...apiTokens.formerValues]
  return text =>
    hideSecretsInQuery(
      values
        .reduce((rest, value) => rest.replaceAll(value, `…${value.slice(-4)}`), text)
        .replaceAll(SCOPED_TOKEN, (_, end: string) => `jwt:…${end}`),
    )
}

/** A value of JSON whose lists and fields may be changed. */
type Copy<Value> = Value extends string
  ? Value
  : Value extends object
    ? { -readonly [Name in keyof Value]: Copy<Value[Name]> }
    : Value

/** Returns a copy of a value of JSON in which the API tokens of every text are shortened. Names of fields stay. */
export function redactTexts<Value>(value: Value, redact: (text: string) => string): Copy<Value> {
  if (typeof value === 'string') return redact(value) as Copy<Value>
  if (Array.isArray(value)) return value.map(item => redactTexts(item, redact)) as Copy<Value>
  if (typeof value !== 'object' || value === null) return value as Copy<Value>
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, redactTexts(item, redact)]),
  ) as Copy<Value>
}
