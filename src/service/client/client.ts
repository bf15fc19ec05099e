/** The typed client, derived from the declarations. Each operation is a method with its name. */
import type * as z from 'zod'
import { parseJsonOrText } from '../../lib/json-text.ts'
import { quote } from '../../lib/quote.ts'
import {
  type AnyEndpoint,
  type Endpoint,
  type FieldSchemas,
  type Operations,
  type RouteParamNames,
  routeParamNames,
} from '../endpoint.ts'
import { NAMES_HEADER } from '../http/request-context.ts'
import { sourceOf } from '../http/response-source.ts'
import { operations } from '../index.ts'
import { Refusal } from './refusal.ts'

/** The content of a file to upload; a string is sent as UTF-8. */
export type FileContent = string | Uint8Array | Blob

interface UploadInput {
  file: FileContent
  filename?: string
  /** Files of optional parts by the name of their part, such as `mask`. */
  optionalFiles?: Readonly<Record<string, FileContent>>
}

// biome-ignore lint/suspicious/noExplicitAny: only `any` is bivariant enough to infer from every declaration
type Any = any

type Simplify<T> = { [K in keyof T]: T[K] } & {}
type FieldInputs<F> = keyof F extends never
  ? unknown
  : F extends FieldSchemas
    ? z.input<z.ZodObject<{ -readonly [K in keyof F]: F[K] }>>
    : unknown

type PathInput<Route extends string, Params> = {
  [Name in RouteParamNames<Route>]: Name extends keyof Params
    ? Params[Name] extends z.ZodType
      ? z.input<Params[Name]>
      : string
    : string
}

/** The input of an operation: the fields of path, query and body in one object. */
export type RequestFor<E> =
  E extends Endpoint<Any, infer Route, infer Params, infer Query, infer Body, infer Form, Any>
    ? Simplify<
        PathInput<Route, Params> &
          FieldInputs<Query> &
          (Body extends z.ZodType ? z.input<Body> : unknown) &
          (Form extends FieldSchemas ? FieldInputs<Form> & UploadInput : unknown)
      >
    : never

/** The answer of an operation. */
export type ResponseFor<E> = E extends Endpoint<Any, Any, Any, Any, Any, Any, infer Returns> ? z.output<Returns> : never

export type OperationName = keyof typeof operations
/** @example RequestOf<'createLlmDeployment'> */
export type RequestOf<Name extends OperationName> = RequestFor<(typeof operations)[Name]>
/** @example ResponseOf<'getDeployment'> */
export type ResponseOf<Name extends OperationName> = ResponseFor<(typeof operations)[Name]>

type Arguments<Request> = keyof Request extends never
  ? []
  : Record<never, never> extends Request
    ? [request?: Request]
    : [request: Request]

export type ClientOf<Served extends Operations> = {
  [Name in keyof Served]: (...args: Arguments<RequestFor<Served[Name]>>) => Promise<ResponseFor<Served[Name]>>
} & {
  /** Returns a client with another token; with undefined, without Authorization. */
  as(token: string | undefined): ClientOf<Served>
  /**
   * Sends a request as it is, with the client's token if it has none. In a world with a names profile the answer has the
   * names of that profile. All other methods use the neutral names.
   */
  raw(request: Request): Promise<Response>
}

export type Client = ClientOf<typeof operations>

export interface ClientOptions {
  /** Address before each path, with or without a trailing slash. */
  baseUrl: string
  token?: string | undefined
}

export type SendRequest = (request: Request) => Response | Promise<Response>

type CreateRequest = (url: string, init: RequestInit) => Request

/**
 * Creates a typed client of the service. Its methods throw Refusal if the answer is not a success.
 *
 * @param send sends a request to the service: `sim.fetch` or `fetch`
 * @example
 * const api = createClient(sim.fetch, { baseUrl: 'http://sim', token })
 * const { deploy_id } = await api.createLlmDeployment({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo } })
 */
export function createClient(send: SendRequest, options: ClientOptions): Client {
  return createClientFor(operations, send, options)
}

/**
 * Creates a typed client of other operations, such as those of the control plane.
 *
 * @param createRequest Default: `new Request`
 */
export function createClientFor<Served extends Operations>(
  served: Served,
  send: SendRequest,
  { baseUrl, token }: ClientOptions,
  createRequest: CreateRequest = (url, init) => new Request(url, init),
): ClientOf<Served> {
  const base = baseUrl.replace(/\/+$/, '')
  // The types have the neutral names, also in a world with a names profile.
  const headers = { [NAMES_HEADER]: 'neutral', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  const methods = Object.entries(served).map(([operation, endpoint]) => [
    operation,
    async (request: Record<string, unknown> = {}) => {
      const response = await send(
        encodeRequest(operation, endpoint as AnyEndpoint, base, headers, request, createRequest),
      )
      return decodeResponse(operation, endpoint as AnyEndpoint, response)
    },
  ])
  return {
    ...Object.fromEntries(methods),
    as: (otherToken: string | undefined) =>
      createClientFor(served, send, { baseUrl, token: otherToken }, createRequest),
    raw: async (request: Request) => {
      if (token !== undefined && !request.headers.has('authorization')) {
        request.headers.set('authorization', `Bearer ${token}`)
      }
      return send(request)
    },
  } as ClientOf<Served>
}

function encodeRequest(
  operation: string,
  endpoint: AnyEndpoint,
  base: string,
  headers: Readonly<Record<string, string>>,
  request: Record<string, unknown>,
  createRequest: CreateRequest,
): Request {
  const unsentFields: Record<string, unknown> = { ...request }
  let path = endpoint.path
  for (const name of routeParamNames(endpoint.path)) {
    const segment = encodeSegment(unsentFields[name], name, operation)
    path = path.replace(`{${name}}`, () => segment)
    delete unsentFields[name]
  }
  const query = new URLSearchParams()
  for (const name of Object.keys(endpoint.query)) {
    const value = unsentFields[name]
    if (value !== undefined && value !== null) query.set(name, asText(value, `Failed to call ${operation}: ${name}`))
    delete unsentFields[name]
  }
  const url = `${base}${path}${query.size > 0 ? `?${query}` : ''}`
  const { method } = endpoint
  if (endpoint.upload !== undefined)
    return createRequest(url, { method, headers, body: encodeUpload(unsentFields, endpoint.upload.part) })
  if (endpoint.body === undefined) return createRequest(url, { method, headers })
  if (endpoint.consumes === 'form') return createRequest(url, { method, headers, body: encodeForm(unsentFields) })
  const jsonHeaders = { ...headers, 'content-type': 'application/json' }
  return createRequest(url, { method, headers: jsonHeaders, body: JSON.stringify(unsentFields) })
}

/**
 * Encodes a value for the path of an address.
 *
 * @throws RangeError for a value that would give the address of another operation
 */
function encodeSegment(value: unknown, name: string, operation: string): string {
  const context = `Failed to call ${operation}: ${name}`
  if (value === undefined || value === null || value === '') throw new RangeError(`${context} is missing. Give it.`)
  const segment = encodeURIComponent(asText(value, context))
  if (segment !== '.' && segment !== '..') return segment
  throw new RangeError(`${context} is '${segment}', which an address cannot have. Give another.`)
}

/** @throws RangeError for an object, whose text would say nothing of it */
function asText(value: unknown, context: string): string {
  if (typeof value !== 'object') return String(value)
  throw new RangeError(`${context} is ${quote(value)}. Give a text.`)
}

function encodeForm(fields: Record<string, unknown>): URLSearchParams {
  const definedFields = Object.entries(fields).filter(([, value]) => value !== undefined)
  return new URLSearchParams(definedFields.map(([name, value]) => [name, String(value)]))
}

function encodeUpload(input: Record<string, unknown>, part = 'file'): FormData {
  const { file, filename, optionalFiles, ...fields } = input as Partial<UploadInput> & Record<string, unknown>
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (Array.isArray(value)) for (const entry of value) data.append(`${name}[]`, String(entry))
    else if (value !== undefined && value !== null) data.set(name, String(value))
  }
  const name = typeof filename === 'string' ? filename : 'file.jsonl'
  if (file !== undefined) data.set(part, toBlob(file), name)
  for (const [optionalPart, content] of Object.entries(optionalFiles ?? {})) {
    data.set(optionalPart, toBlob(content), optionalPart)
  }
  return data
}

function toBlob(content: FileContent): Blob {
  return content instanceof Blob ? content : new Blob([content as string | Uint8Array<ArrayBuffer>])
}

async function decodeResponse(operation: string, endpoint: AnyEndpoint, response: Response): Promise<unknown> {
  if (response.ok && endpoint.produces.startsWith('audio/')) return new Uint8Array(await response.arrayBuffer())
  // Reading a body takes several times as long as looking up the text that it was made of.
  const text = sourceOf(response)?.text ?? (await response.text())
  if (response.ok && endpoint.produces !== 'application/json') return text
  const body = parseJsonOrText(text)
  if (!response.ok) throw new Refusal(operation, response.status, body, response.headers)
  return body
}
