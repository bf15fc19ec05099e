/** Fields of bodies that hold credentials. Lists, events and near misses never show their values. */

const SECRET_FIELD = /(?:^|_)(?:token|secret|password|passphrase|api_?key|private_key|credentials?|user_data)$/i

/** The text in place of a credential. */
export const HIDDEN = '(hidden)'

/** Tells whether the field at the end of a path holds a credential, as in `body.hub.token`. */
export function isSecretPath(path: string): boolean {
  return SECRET_FIELD.test(path.slice(path.lastIndexOf('.') + 1))
}

/** Returns a JSON value with its credentials hidden. A value without any is returned as it is. */
export function hideSecrets(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(hideSecrets)
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    typeof field === 'string' && field !== '' && SECRET_FIELD.test(name) ? HIDDEN : hideSecrets(field),
  ])
  const isChanged = fields.some(([name, field]) => field !== (value as Record<string, unknown>)[name as string])
  return isChanged ? Object.fromEntries(fields) : value
}
