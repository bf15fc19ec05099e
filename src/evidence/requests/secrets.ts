/** Fields of bodies that hold credentials. Lists, events and near misses never show their values. */

/** What the name of such a field ends with, in any case: `hf_token`, `hfToken`, `API-KEY`. */
const SECRET_WORDS =
  '(?:token|secret|password|passphrase|(?:api|access|private|secret|subscription)[_-]?key|credentials?|user[_-]?data)'
/** The longest beginning of a name that a text is searched for. */
const PREFIX = String.raw`[\w-]{0,100}?`
const SECRET_FIELD = new RegExp(`${SECRET_WORDS}$`, 'i')
/** A field of JSON in a text, also of JSON in a text of JSON. A value that is cut off has no end. */
const SECRET_IN_JSON = new RegExp(
  String.raw`(\\{0,7}")(${PREFIX}${SECRET_WORDS})\1(\s{0,9}:\s{0,9})\1((?:(?!(?<!\\)\1)[^])+)(\1)?`,
  'gi',
)
const SECRET_IN_FORM = new RegExp(`(^|[?&])(${PREFIX}${SECRET_WORDS})=([^&\\s"]+)`, 'gi')

/** The text in place of a credential. */
export const HIDDEN = '(hidden)'

/** A field with a text as its value, in a text that may be JSON. It is quick, and finds too many. */
const MAYBE_SECRET = new RegExp(String.raw`${SECRET_WORDS}\\?"\s*:\s*\\?"|\\u`, 'i')

/** Tells whether a text may have a field that holds a credential. */
export function mayHaveSecrets(text: string): boolean {
  return MAYBE_SECRET.test(text)
}

/** Tells whether the name of a field says that it holds a credential, as in `hf_token`. */
export function isSecretName(name: string): boolean {
  return SECRET_FIELD.test(name)
}

/** Tells whether the field at the end of a path holds a credential, as in `body.hub.token`. */
export function isSecretPath(path: string): boolean {
  return isSecretName(path.slice(path.lastIndexOf('.') + 1))
}

/** Headers with credentials whose names do not say so. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])

/** Tells whether a header holds a credential, as in `authorization`, `api-key` and `x-auth-token`. */
export function isSecretHeader(name: string): boolean {
  return SECRET_HEADERS.has(name.toLowerCase()) || SECRET_FIELD.test(name)
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

/** Returns a JSON value that was shown with hidden credentials, with those of the value that it was made of. */
export function restoreSecrets(shown: unknown, original: unknown): unknown {
  if (typeof shown !== 'object' || shown === null || typeof original !== 'object' || original === null) return shown
  if (Array.isArray(shown)) return shown.map((item, index) => restoreSecrets(item, (original as unknown[])[index]))
  const values = original as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(shown).map(([name, field]) => [
      name,
      field === HIDDEN && SECRET_FIELD.test(name) && typeof values[name] === 'string'
        ? values[name]
        : restoreSecrets(field, values[name]),
    ]),
  )
}

/**
 * Returns a text with the credentials of its JSON or its form replaced: a text that is cut off, or invalid JSON. Default:
 * they are hidden.
 */
export function hideSecretsInText(text: string, replace: (value: string) => string = () => HIDDEN): string {
  return hideSecretsInQuery(
    text.replaceAll(SECRET_IN_JSON, (_, quote: string, name: string, colon: string, value: string, end = '') =>
      [quote, name, quote, colon, quote, replace(value), end].join(''),
    ),
    replace,
  )
}

/** Returns a path or a form with the values of its credentials replaced. Default: they are hidden. */
export function hideSecretsInQuery(text: string, replace: (value: string) => string = () => HIDDEN): string {
  if (!text.includes('=')) return text
  return text.replaceAll(
    SECRET_IN_FORM,
    (_, before: string, name: string, value: string) => `${before}${name}=${replace(value)}`,
  )
}
