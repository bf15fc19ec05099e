/**
 * A program that calls every operation of a document through a generated client, also those of a second path. The requests
 * are the examples of the declarations.
 */
import { type AnyEndpoint, type Operations, routeParamNames } from '../../../src/service/endpoint.ts'
import { exampleTarget } from '../../../src/service/openapi/examples.ts'

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: FieldSchema
}

interface FieldSchema {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly FieldSchema[]
}

interface FormSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>
}

interface DocumentOperation {
  readonly operationId: string
  /** The operation that a second path serves. */
  readonly 'x-mirror-of'?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: FormSchema }>> }
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: object }>> }>
  >
}

/** What of the document a program has to know. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>
  readonly components: object
}

/** An operation of the document, with the declaration that answers it. */
export interface ListedOperation {
  readonly id: string
  readonly path: string
  readonly method: string
  readonly document: DocumentOperation
  /** The id of the declaration. */
  readonly served: string
}

/** Returns every operation of a document in its order. */
export function listOperations({ paths }: Document): ListedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, document]) => ({
      id: document.operationId,
      path,
      method: method.toUpperCase(),
      document,
      served: document['x-mirror-of'] ?? document.operationId,
    })),
  )
}

export function driverOf(document: Document, operations: Operations): string {
  const listed = listOperations(document)
  const drives = listed.map(operation => drive(operation, operations[operation.served] as AnyEndpoint))
  return `${HEAD}\n${drives.join('\n\n')}\n\nexport const drives = { ${listed.map(({ id }) => id).join(', ')} }\n`
}

const HEAD = `import createClient from 'openapi-fetch'
import type { paths } from './service.ts'

type Send = (request: Request) => Promise<Response>

const clientOf = (fetch: Send, token: string) =>
  createClient<paths>({ baseUrl: 'http://sim', fetch, headers: { authorization: \`Bearer \${token}\` } })

const outcomeOf = ({ response, data, error }: { response: Response; data?: unknown; error?: unknown }) => ({
  status: response.status,
  contentType: response.headers.get('content-type'),
  data: data as Record<string, unknown>,
  error,
})
`

function drive({ id, path, method, document }: ListedOperation, endpoint: AnyEndpoint): string {
  const { parameters = [], requestBody } = document
  const { example, produces, upload, consumes } = endpoint
  const { inPath, query } = given(endpoint, parameters)
  const after = (example.prerequisites ?? []).map(earlier => `...(await ${earlier}(fetch, token)).data`)
  const params = [
    ...(inPath.length > 0 ? [`path: { ${inPath.join(', ')} }`] : []),
    ...(query.length > 0 ? [`query: { ${query.join(', ')} }`] : []),
  ]
  const options = [
    ...(params.length > 0 ? [`params: { ${params.join(', ')} }`] : []),
    ...(example.body !== undefined ? [`body: ${JSON.stringify(example.body)}`] : []),
    ...(example.form !== undefined
      ? [formOf(example.form, requestBody!.content['multipart/form-data']!.schema, upload?.part)]
      : []),
    ...(consumes === 'form' ? ["headers: { 'content-type': 'application/x-www-form-urlencoded' }"] : []),
    ...(produces !== 'application/json' ? ["parseAs: 'arrayBuffer'"] : []),
  ]
  return [
    `async function ${id}(fetch: Send, token: string) {`,
    ...(after.length > 0 ? [`  const before: Record<string, unknown> = { ${after.join(', ')} }`] : []),
    `  const client = clientOf(fetch, token)`,
    `  return outcomeOf(await client.${method}('${path}', { ${options.join(', ')} }))`,
    '}',
  ].join('\n')
}

function given(endpoint: AnyEndpoint, parameters: readonly Parameter[]): { inPath: string[]; query: string[] } {
  const [target, search = ''] = exampleTarget(endpoint).split('?')
  const names = routeParamNames(endpoint.path)
  // A name of a model may hold a slash.
  const pattern = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'model_name' ? '(.+)' : '([^/]+)'))
  const values = new RegExp(`^${pattern}$`).exec(target!)?.slice(1) ?? []
  const typed = (name: string, value: string) => typedValue(parameters.find(one => one.name === name)?.schema, value)
  // `{name}` is that field of an earlier answer.
  const toCode = (name: string, value: string): string => {
    const [, earlier] = /^\{(\w+)\}$/.exec(value) ?? []
    return earlier === undefined ? JSON.stringify(typed(name, value)) : `String(before.${earlier})`
  }
  return {
    inPath: names.map((name, i) => `${name}: ${toCode(name, decodeURIComponent(values[i] ?? ''))}`),
    query: [...new URLSearchParams(search)].map(([name, value]) => `${JSON.stringify(name)}: ${toCode(name, value)}`),
  }
}

/** Returns a text of an example as a value of the type that a schema has. */
function typedValue(schema: FieldSchema | undefined, value: string): unknown {
  const types = [schema, ...(schema?.anyOf ?? [])].flatMap(form => form?.type ?? [])
  if (types.includes('integer') || types.includes('number')) return Number(value)
  return types.includes('boolean') ? value === 'true' : value
}

function formOf(
  { fields, filename, content }: NonNullable<AnyEndpoint['example']['form']>,
  { properties = {} }: FormSchema,
  part = 'file',
): string {
  const typedFields = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typedValue(properties[name], value)]),
  )
  // A program is text, and the file may have any bytes.
  const base64 = Buffer.from(content).toString('base64')
  return (
    `body: { ...${JSON.stringify(typedFields)} as const, ${part}: ${JSON.stringify(base64)} }, ` +
    `bodySerializer: body => { const form = new FormData(); const { ${part}: file, ...fields } = body; ` +
    `for (const [name, value] of Object.entries(fields)) form.set(name, String(value)); ` +
    `const bytes = Uint8Array.from(atob(file), character => character.charCodeAt(0)); ` +
    `form.set('${part}', new Blob([bytes]), ${JSON.stringify(filename)}); return form }`
  )
}
