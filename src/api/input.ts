/** The input of an endpoint, from the path, the query and the body of a request: or every issue with them. */
import * as z from 'zod'
import { type Asked, headerReader } from './asked.ts'
import type { Fields } from './endpoint.ts'
import { parseBody } from './json-body.ts'
import type { Upload } from './multipart.ts'
import type { Payload } from './payload.ts'
import type { Prepared } from './prepared.ts'
import { type Strangers, strangersIn } from './strangers.ts'
import { Details, explainAll, notPermitted, type Place } from './validation.ts'

/** The input of `handle`, or every issue: path, query, body. */
export function validate(
  { one, params, search }: Asked,
  payload: Payload,
  strictQuery: boolean,
): { params: unknown; query: unknown; body: unknown; upload: unknown } | Details {
  const { rules } = one
  const issues = new Details()
  let typedParams: unknown = params
  if (rules.params !== undefined) {
    typedParams = { ...params, ...(parse('path', rules.params, params, issues) as object) }
  }
  let query: unknown = EMPTY
  if (strictQuery && search !== '') addUnknownParameters(issues, search, one.endpoint.query)
  if (rules.query !== undefined) {
    query =
      search === '' && rules.emptyQuery !== undefined
        ? rules.emptyQuery
        : parse('query', rules.query, queryOf(search, one), issues)
  }
  let body: unknown
  let upload: unknown
  if (payload !== undefined) {
    if ('refused' in payload) throw payload.refused
    if ('issues' in payload) {
      for (const { loc, ...said } of payload.issues) issues.add(loc, () => said)
    } else if ('fields' in payload) body = bodyOf(one, payload.fields, issues)
    else if ('form' in payload) upload = parseForm(one, payload.form, issues)
    else body = parseText(one, payload.text, issues)
  }
  return issues.count > 0 ? issues : { params: typedParams, query, body, upload }
}

/** All that a client sent and nothing reads. */
export function strangers(asked: Asked, payload: Payload): Strangers {
  const { one, request, search } = asked
  const fields = payload !== undefined && 'fields' in payload ? JSON.stringify(payload.fields) : undefined
  const text = payload !== undefined && 'text' in payload ? payload.text : fields
  const form = payload !== undefined && 'form' in payload ? payload.form.fields : undefined
  const found = strangersIn(one.endpoint, { search, text, form }, one.hears)
  if (one.readsBody || request.method === 'GET' || request.method === 'HEAD') return found
  if (hasBody(request, headerReader(asked))) {
    found.body.add(['body'], () => ({ msg: 'no body is read here', type: 'extra_forbidden' }))
  }
  return found
}

function hasBody(request: Request, header: (name: string) => string | null): boolean {
  const length = header('content-length')
  if (length !== null) return Number(length) > 0
  // What came over a connection has a host, and announces its body; the server has a body for every POST all the same.
  return header('host') === null ? request.body !== null : header('transfer-encoding') !== null
}

/** A body with fields that nothing reads is refused; what else is not read is only told of. */
export function strictly(
  input: ReturnType<typeof validate>,
  { body }: Strangers,
  { readsBody }: Prepared,
): typeof input {
  if (!readsBody || body.count === 0) return input
  if (!(input instanceof Details)) return body
  input.take(body)
  return input
}

/** `body hub.repo`, by the names that the client has. */
export function spoken([place, ...steps]: readonly string[], { speaks }: Prepared): string {
  const spelled = place === 'body' && speaks !== undefined ? (speaks.body?.spelled(steps) ?? steps) : steps
  return [place, ...(spelled.length > 0 ? [spelled.join('.')] : [])].join(' ')
}

const EMPTY = Object.freeze({})

/** @param parser takes the same as `schema`, and may be faster */
function parse(place: Place, schema: z.ZodType, value: unknown, issues: Details, parser = schema): unknown {
  try {
    const result = parser.safeParse(value)
    if (result.success) return result.data
    // Reporting the input costs; only a refusal needs it.
    const found = schema.safeParse(value, { reportInput: true }).error?.issues ?? result.error.issues
    explainAll(issues, place, found, schema)
  } catch (error) {
    if (!(error instanceof RangeError && error.message.includes('call stack'))) throw error
    // zod hands the issues of a value to `push` as arguments, of which the stack takes some 120,000.
    issues.add([place], () => ({ msg: 'There are more errors than can be listed', type: 'too_many_errors' }))
  }
  return undefined
}

function parseText(one: Prepared, text: string, issues: Details): unknown {
  const parsed = parseBody(text)
  if ('value' in parsed) return bodyOf(one, parsed.value, issues)
  const { loc, ...said } = parsed.issue
  issues.add(loc, () => said)
  return undefined
}

/** The body that a value is; undefined, and why, where it is none. */
export function bodyOf(one: Prepared, sent: unknown, issues: Details): unknown {
  const { endpoint, hears } = one
  const value = hears === undefined ? sent : hears.body!.inward(sent)
  return parse('body', endpoint.body!, value, issues, one.body())
}

function parseForm(
  { endpoint, hears }: Prepared,
  form: Extract<Upload, { form: unknown }>['form'],
  issues: Details,
): unknown {
  const fields = hears === undefined ? form.fields : hears.form!.inward(form.fields)
  const values = parse('body', z.object(endpoint.upload!.fields as Fields), fields, issues)
  if (form.file !== undefined) return Object.assign({}, values, { file: form.file, files: form.files })
  const { part = 'file' } = endpoint.upload!
  const msg = 'Value error, the part should be a file: give it a filename'
  issues.add(['body', part], () =>
    form.fileAsText ? { msg, type: 'value_error' } : { msg: 'Field required', type: 'missing' },
  )
  return undefined
}

/** The declared parameters; of one that is given twice the last counts. */
function queryOf(search: string, { endpoint, hears }: Prepared): unknown {
  const query: Record<string, string> = {}
  const fields = endpoint.query
  if (hears === undefined) {
    for (const [name, value] of new URLSearchParams(search)) if (Object.hasOwn(fields, name)) query[name] = value
    return query
  }
  return hears.query.inward(Object.fromEntries(new URLSearchParams(search)))
}

function addUnknownParameters(issues: Details, search: string, fields: Fields): void {
  const known = Object.keys(fields)
  for (const name of new Set(new URLSearchParams(search).keys())) {
    if (!known.includes(name)) issues.add(['query', name], () => notPermitted(name, known))
  }
}
