/** Credentials in what readers get of a world. */

import type { Replacement } from '../../lib/text/secrets.ts'
import type { Simulator } from '../simulator-interface.ts'

/** Returns a value of JSON with its credentials replaced. Default: they are hidden. */
export function hideSecretsIn<Value>({ world }: Pick<Simulator, 'world'>, value: Value, replace?: Replacement): Value {
  const text = JSON.stringify(value)
  const hidden = world.apiTokens.hideSecrets(text, replace)
  return hidden === text ? value : (JSON.parse(hidden) as Value)
}

/** Returns a value of JSON that was shown without credentials, with those of the value that it was made of. */
export function restoreSecrets(sim: Simulator, shown: unknown, original: unknown, name = ''): unknown {
  if (typeof shown !== 'object' || shown === null || typeof original !== 'object' || original === null) {
    return hideSecretsIn(sim, { [name]: original })[name] === shown ? original : shown
  }
  if (Array.isArray(shown)) {
    return shown.map((item, index) => restoreSecrets(sim, item, (original as unknown[])[index], name))
  }
  const values = original as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.entries(shown).map(([field, item]) => [field, restoreSecrets(sim, item, values[field], field)]),
  )
}
