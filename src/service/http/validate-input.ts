/** The input of an endpoint: the path, the query and the body of a request, validated. */
import * as z from 'zod'
import { LIMITS } from '../../lib/limits.ts'
import { isIntegerText, isNumberText } from '../../lib/text/numbers.ts'
import { readsInherited, unwrapSchema, withoutPrototypes } from '../../lib/zod-problems.ts'
import type { FieldSchemas } from '../endpoint.ts'
import type { RawBody } from './bodies/body.ts'
import { parseJsonBody } from './bodies/json-body.ts'
import type { UploadResult } from './bodies/multipart.ts'
import type { CompiledOperation } from './compiled-operation.ts'
import * as listField from './list-field.ts'
import type { RequestContext } from './request-context.ts'
import type { UnknownFields } from './unknown-fields.ts'
import * as unknown from './unknown-fields.ts'
import { Details, explainAll, explainExtraField, type InputLocation, NOT_AN_INTEGER } from './validation-errors.ts'

type Issue = z.core.$ZodIssue

interface Replacement {
  readonly path: readonly PropertyKey[]
  readonly value: number | boolean
}

/**
 * Returns the value with numbers and booleans in place of the texts that failed as such: digits, `true` and `false`.
 * Copies what it changes. Returns undefined if no text can be replaced.
 *
 * @param issues the issues of the value. The parse must have run with `reportInput`.
 */
export function replaceLaxTexts(value: unknown, issues: readonly Issue[]): unknown {
  const replacements = issues.flatMap(issue => findReplacements(issue, []))
  if (replacements.length === 0) return undefined
  const copies = new WeakSet<object>()
  const root = { value }
  for (const { path, value: replacement } of replacements) {
    let container = root as Record<PropertyKey, unknown>
    let key: PropertyKey = 'value'
    for (const step of path) {
      container[key] = copyOnce(container[key] as object, copies)
      container = container[key] as Record<PropertyKey, unknown>
      key = step
    }
    container[key] = replacement
  }
  return root.value
}

function copyOnce(original: object, copies: WeakSet<object>): object {
  if (copies.has(original)) return original
  const copy = Array.isArray(original) ? original.slice() : { ...original }
  copies.add(copy)
  return copy
}

/** Returns the replacements that remove an issue: none if it is about something else. */
function findReplacements(issue: Issue, prefix: readonly PropertyKey[]): Replacement[] {
  const path = [...prefix, ...issue.path]
  if (issue.code === 'invalid_union') {
    for (const branch of issue.errors) {
      const replacements = branch.map(inner => findReplacements(inner, path))
      if (branch.length > 0 && replacements.every(found => found.length > 0)) return replacements.flat()
    }
    return []
  }
  // An assignment to this key would set a prototype.
  if (path.includes('__proto__')) return []
  const value = readText(issue)
  return value === undefined ? [] : [{ path, value }]
}

function readText(issue: Issue): number | boolean | undefined {
  const { input, code, message } = issue
  if (typeof input !== 'string') return undefined
  const asBoolean = input === 'true' ? true : input === 'false' ? false : undefined
  const asNumber = isNumberText(input) ? Number(input) : undefined
  // The text itself is not among the values.
  if (code === 'invalid_value') return [asBoolean, asNumber].find(value => issue.values.includes(value as number))
  if (code !== 'invalid_type') return undefined
  if (issue.expected === 'boolean') return asBoolean
  if (issue.expected === 'int' || message === NOT_AN_INTEGER) return isIntegerText(input) ? asNumber : undefined
  return issue.expected === 'number' ? asNumber : undefined
}

/**
 * Returns the texts of a path, a query or a form with numbers and booleans where a schema needs them. A schema with
 * `catch` would otherwise take its own value in place of a text.
 */
function readCaught(schema: z.ZodType, value: unknown): unknown {
  const inner = unwrapSchema(schema)
  if (inner instanceof z.ZodObject) {
    const fields = new Map(Object.entries(inner.shape as FieldSchemas))
    const read = (name: string, text: unknown) => (fields.has(name) ? readCaught(fields.get(name)!, text) : text)
    return Object.fromEntries(Object.entries(value as object).map(([name, text]) => [name, read(name, text)]))
  }
  const isList = inner instanceof z.ZodArray && Array.isArray(value)
  const read = isList ? value.map(one => readCaught(inner.element as z.ZodType, one)) : value
  const issues = inner === schema ? undefined : inner.safeParse(read, { reportInput: true }).error?.issues
  return (issues && replaceLaxTexts(read, issues)) ?? read
}

/** How strictly the input of requests is validated. */
export interface ValidationMode {
  /** Whether undeclared query parameters are refused. Default: false. */
  readonly strictInput?: boolean | undefined
  /** Whether texts of digits are accepted as numbers, and `"true"` and `"false"` as booleans. Default: false. */
  readonly isLax?: boolean | undefined
}

/**
 * Returns the input of `handle`, or every issue in path, query and body.
 *
 * @param bodySchema the schema of this request's body, if it depends on the model. Default: that of the declaration.
 */
export function validateInput(
  { operation, params, search }: RequestContext,
  rawBody: RawBody,
  { strictInput = false, isLax = false }: ValidationMode,
  bodySchema?: z.ZodType,
): { params: unknown; query: unknown; body: unknown; upload: unknown } | Details {
  const { inputSchemas } = operation
  // A path, a query and a form have only texts, whatever the policy of validation says.
  const ofTexts = 'isOwn' in operation.endpoint ? 'caught' : true
  let found: Details | undefined
  const issues = () => {
    found ??= new Details()
    return found
  }
  let typedParams: unknown = params
  if (inputSchemas.params !== undefined) {
    typedParams = { ...params, ...(parseValue('path', inputSchemas.params, params, issues, ofTexts) as object) }
  }
  let query: unknown = EMPTY_QUERY
  if (strictInput && search !== '') addUnknownParameters(issues, search, operation.endpoint.query)
  if (inputSchemas.query !== undefined) {
    query =
      search === '' && inputSchemas.emptyQuery !== undefined
        ? inputSchemas.emptyQuery
        : parseValue('query', inputSchemas.query, readQuery(search, operation), issues, ofTexts)
  }
  let body: unknown
  let upload: unknown
  if (rawBody !== undefined) {
    if ('refused' in rawBody) throw rawBody.refused
    if ('issues' in rawBody) {
      for (const { loc, ...issue } of rawBody.issues) issues().add(loc, () => issue)
    } else if ('fields' in rawBody) body = parseBodyValue(operation, rawBody.fields, issues, ofTexts, bodySchema)
    else if ('form' in rawBody && operation.endpoint.byTask !== undefined) {
      const { fields, file } = rawBody.form
      const { part } = operation.endpoint.byTask.file
      body = parseBodyValue(operation, file ? { ...fields, [part]: file } : fields, issues, true, bodySchema)
    } else if ('form' in rawBody) upload = parseForm(operation, rawBody.form, issues, isLax)
    else body = parseBodyText(operation, rawBody.text, issues, isLax, bodySchema)
  }
  return found ?? { params: typedParams, query, body, upload }
}

/**
 * Returns the parts of a request that nothing reads.
 *
 * @param bodySchema as for `validateInput`
 */
export function findUnreadInput(context: RequestContext, rawBody: RawBody, bodySchema?: z.ZodType): UnknownFields {
  const { operation, request, search } = context
  const rawForm = rawBody !== undefined && 'form' in rawBody ? rawBody.form.fields : undefined
  // The fields of such a form are those of the body.
  const form = operation.endpoint.byTask === undefined ? rawForm : undefined
  const rawFields = rawBody !== undefined && 'fields' in rawBody ? rawBody.fields : form ? undefined : rawForm
  const fields = rawFields && JSON.stringify(rawFields)
  const text = rawBody !== undefined && 'text' in rawBody ? rawBody.text : fields
  const unreadFields = unknown.findUnknownFields(
    bodySchema === undefined ? operation.endpoint : { ...operation.endpoint, body: bodySchema },
    { search, text, form },
    operation.requestMapping,
  )
  if (operation.readsBody || request.method === 'GET' || request.method === 'HEAD') return unreadFields
  if (hasBody(context)) {
    unreadFields.body.add(['body'], () => ({ msg: 'no body is read here', type: 'extra_forbidden' }))
  }
  return unreadFields
}

/** Whether a request has a body, as far as its head tells. */
export function hasBody(context: RequestContext): boolean {
  const length = context.header('content-length')
  if (length !== null) return Number(length) > 0
  // A request from a connection has a host and announces its body. The server makes a body for every POST.
  return context.header('host') === null ? context.request.body !== null : context.header('transfer-encoding') !== null
}

/** Adds an issue for each unknown field of a body. Other unread input is only reported. */
export function rejectUnknownFields(
  input: ReturnType<typeof validateInput>,
  { body }: UnknownFields,
  { readsBody }: CompiledOperation,
): typeof input {
  if (!readsBody || body.count === 0) return input
  if (!(input instanceof Details)) return body
  input.take(body)
  return input
}

/** Returns unknown fields by their vendor names, as in `query stauts` or `body hub.repo`. */
export function toUnreadFields({ query, body }: UnknownFields, operation: CompiledOperation): readonly string[] {
  return [...query.places, ...body.places].map(loc => toVendorLocation(loc, operation))
}

/** Returns a location by its vendor names, as in `body hub.repo`. */
export function toVendorLocation([place, ...steps]: readonly string[], { responseMapping }: CompiledOperation): string {
  const vendorSteps =
    place === 'body' && responseMapping !== undefined
      ? (responseMapping.body?.toVendorFieldPath(steps) ?? steps)
      : steps
  return [place, ...(vendorSteps.length > 0 ? [vendorSteps.join('.')] : [])].join(' ')
}

const EMPTY_QUERY = Object.freeze({})

/** Returns the value with the first entries of each long list, so that a list of mistakes is not read to its end. */
function cutLists(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) {
    const cut = Object.entries(value).map(([key, entry]) => [key, cutLists(entry)] as const)
    return cut.some(([key, entry]) => entry !== (value as Record<string, unknown>)[key])
      ? Object.fromEntries(cut)
      : value
  }
  if (value.length > LIMITS.countedErrors) return cutLists(value.slice(0, LIMITS.countedErrors))
  const cut = value.map(cutLists)
  return cut.some((entry, i) => entry !== value[i]) ? cut : value
}

/**
 * @param isLax `caught`: texts count, too, where the schema would catch them
 * @param parser accepts the same values as `schema`, and may be faster
 */
function parseValue(
  place: InputLocation,
  schema: z.ZodType,
  given: unknown,
  issues: () => Details,
  isLax: boolean | 'caught',
  parser = schema,
): unknown {
  const value = isLax === 'caught' ? readCaught(schema, given) : given
  try {
    const result = parser.safeParse(value)
    if (result.success) return result.data
    // Reporting the input costs; only a refusal and a lax value need it.
    const head = cutLists(value)
    const firstIssues = schema.safeParse(head, { reportInput: true }).error?.issues ?? []
    const isLong = firstIssues.length >= LIMITS.countedErrors
    if (isLong && !(isLax && replaceLaxTexts(head, firstIssues))) {
      explainAll(issues(), place, firstIssues.slice(0, LIMITS.countedErrors), schema)
      return undefined
    }
    const zodIssues = schema.safeParse(value, { reportInput: true }).error?.issues ?? result.error.issues
    // The schema reads `constructor` of an object that lacks it, and so would the handler.
    if (zodIssues.some(readsInherited))
      return withoutPrototypes(parseValue(place, schema, withoutPrototypes(value), issues, isLax !== false))
    const laxValue = isLax ? replaceLaxTexts(value, zodIssues) : undefined
    if (laxValue !== undefined) return parseValue(place, schema, laxValue, issues, false)
    explainAll(issues(), place, zodIssues, schema)
  } catch (error) {
    if (!(error instanceof RangeError && error.message.includes('call stack'))) throw error
    // zod passes the issues of a value to `push` as arguments, and the stack holds about 120,000.
    issues().add([place], () => ({ msg: 'There are more errors than can be listed', type: 'too_many_errors' }))
  }
  return undefined
}

function parseBodyText(
  operation: CompiledOperation,
  text: string,
  issues: () => Details,
  isLax: boolean,
  bodySchema: z.ZodType | undefined,
): unknown {
  const { maxBodyValues, path } = operation.endpoint
  // The live service takes the last of equal keys. To the control plane, they are a typo, as in a fixture.
  const parsed = parseJsonBody(text, maxBodyValues, path.startsWith('/_sim/'))
  if ('value' in parsed) return parseBodyValue(operation, parsed.value, issues, isLax, bodySchema)
  const { loc, ...issue } = parsed.issue
  issues().add(loc, () => issue)
  return undefined
}

/** The body of an operation that reads none. */
const NO_BODY = z.strictObject({}).optional()

/** Parses a request body. Returns undefined and adds to `issues` if it is invalid. */
export function parseBodyValue(
  operation: CompiledOperation,
  rawValue: unknown,
  issues: () => Details,
  isLax: boolean | 'caught',
  bodySchema?: z.ZodType,
): unknown {
  const { endpoint, requestMapping } = operation
  const value = requestMapping === undefined ? rawValue : requestMapping.body!.toInternal(rawValue)
  const schema = bodySchema ?? (operation.readsBody ? undefined : NO_BODY)
  if (schema !== undefined) return parseValue('body', schema, value, issues, isLax)
  return parseValue('body', endpoint.body!, value, issues, isLax, operation.bodyParser())
}

function parseForm(
  { endpoint, requestMapping }: CompiledOperation,
  form: Extract<UploadResult, { form: unknown }>['form'],
  issues: () => Details,
  isLax: boolean,
): unknown {
  const declared = endpoint.upload!.fields as FieldSchemas
  const toInternal = (fields: object) =>
    (requestMapping === undefined ? fields : requestMapping.body!.toInternal(fields)) as Record<string, unknown>
  const lists = toInternal(form.lists)
  const listNames = Object.keys(declared).filter(
    name => listField.isListField(declared[name]!) && lists[name] !== undefined,
  )
  const fields = { ...toInternal(form.fields), ...Object.fromEntries(listNames.map(name => [name, lists[name]])) }
  const values = parseValue('body', z.object(declared), fields, issues, isLax)
  const { part = 'file', optionalParts = [] } = endpoint.upload!
  const notAFile = { msg: 'Value error, the part should be a file: give it a filename', type: 'value_error' }
  for (const name of optionalParts) {
    if (Object.hasOwn(form.fields, name)) issues().add(['body', name], () => notAFile)
  }
  const { file, files, optionalFiles } = form
  if (file !== undefined) return Object.assign({}, values, { file, files, optionalFiles })
  issues().add(['body', part], () => (form.fileAsText ? notAFile : { msg: 'Field required', type: 'missing' }))
  return undefined
}

/** Returns the declared parameters. If a parameter is repeated, and is not a list, the last value counts. */
function readQuery(search: string, { endpoint, requestMapping, inputSchemas }: CompiledOperation): unknown {
  let query: Record<string, unknown> = {}
  const fields = endpoint.query
  const given = new URLSearchParams(search)
  if (requestMapping === undefined) {
    for (const [name, value] of given) if (Object.hasOwn(fields, name)) query[name] = value
  } else query = requestMapping.query.toInternal(Object.fromEntries(given)) as Record<string, unknown>
  if (inputSchemas.queryLists.length === 0) return query
  const all: Record<string, string[]> = Object.create(null)
  for (const [name, value] of given) {
    all[name] ??= []
    all[name].push(value)
  }
  const lists = (requestMapping?.query.toInternal(all) ?? all) as Record<string, string[]>
  for (const name of inputSchemas.queryLists) {
    if (Object.hasOwn(lists, name)) query[name] = listField.readRepeated(fields[name], lists[name]!)
  }
  return query
}

function addUnknownParameters(issues: () => Details, search: string, fields: FieldSchemas): void {
  const known = Object.keys(fields)
  for (const name of new Set(new URLSearchParams(search).keys())) {
    if (!known.includes(name)) issues().add(['query', name], () => explainExtraField(name, known))
  }
}
