/** Reads the body of a request without parsing it. */

import { LIMITS } from '../../../lib/limits.ts'
import type { FieldSchemas } from '../../endpoint.ts'
import type { RefusalError } from '../../refusals.ts'
import * as listField from '../list-field.ts'
import type { RequestContext } from '../request-context.ts'
import type { UploadResult } from './multipart.ts'
import * as multipart from './multipart.ts'
import { bytesOf, createDetailRefusal, readText } from './text-body.ts'

export type RawBody =
  | { text: string }
  | { fields: Record<string, unknown> }
  | { refused: RefusalError; bytes?: Uint8Array }
  | UploadResult
  | undefined

/** The type of a body that is not text. */
export const OTHER_FORM = /^\s*(multipart\/|application\/x-www-form-urlencoded)/i

/**
 * Returns the body of a request whose transport has read it as text; undefined if the endpoint takes it in another form,
 * or the transport has not read it.
 */
export function takeReadText(context: RequestContext): RawBody {
  const { text } = context.incoming
  const { upload, consumes, byTask, maxBodyBytes = LIMITS.bodyBytes } = context.operation.endpoint
  if (text === undefined || upload !== undefined || consumes === 'form' || byTask !== undefined) return undefined
  if ((context.header('content-encoding') ?? 'identity') !== 'identity') return undefined
  const contentType = context.header('content-type')
  if (contentType !== 'application/json' && OTHER_FORM.test(contentType ?? '')) return undefined
  return bytesOf(text, maxBodyBytes) > maxBodyBytes ? undefined : { text }
}

/** Reads the body of a request in the form that its endpoint accepts. */
export async function readBody(context: RequestContext, scope: unknown): Promise<RawBody> {
  const { request } = context
  const { endpoint } = context.operation
  const encoding = context.header('content-encoding') ?? 'identity'
  if (encoding !== 'identity') {
    const message = 'Unsupported Media Type: send the body as it is, not compressed'
    return { refused: createDetailRefusal(415, message, { 'accept-encoding': 'identity' }) }
  }
  const contentType = context.header('content-type')
  if (endpoint.upload !== undefined) {
    const { part, isList, optionalParts, fields, limit, limitFor } = endpoint.upload
    const declared = (fields ?? {}) as FieldSchemas
    const required = Object.keys(declared).filter(name => !declared[name]!.safeParse(undefined).success)
    const limits = { part, isList, optionalParts, required, limit: limit(scope as never), limitFor }
    return multipart.readUpload(request, contentType, limits)
  }
  if (endpoint.consumes === 'form') {
    const form = await multipart.readForm(request, contentType)
    if (!('fields' in form) || endpoint.body === undefined) return form
    return { fields: listField.withLists(form.fields, form.lists, endpoint.body, context.operation.requestMapping) }
  }
  if (endpoint.byTask !== undefined && /^\s*multipart\/form-data\s*(;|$)/i.test(contentType ?? '')) {
    return multipart.readUpload(request, contentType, endpoint.byTask.file)
  }
  if (OTHER_FORM.test(contentType ?? '')) {
    return { refused: multipart.createUnsupportedMediaType(['application/json']) }
  }
  const { maxBodyBytes = LIMITS.bodyBytes } = endpoint
  if (Number(context.header('content-length') ?? 0) > maxBodyBytes)
    return { refused: createDetailRefusal(413, 'Request Entity Too Large') }
  return readText(request, maxBodyBytes)
}

/** Returns the fields of a form, and the hashes of `files`; undefined for another body. */
export function formParts(body: RawBody): Readonly<Record<string, unknown>> | undefined {
  if (body === undefined || 'fields' in body) return body?.fields
  if (!('form' in body)) return undefined
  const { lists, files, optionalFiles } = body.form
  const fields = Object.entries(lists).map(([name, values]) => [name, values.length === 1 ? values[0] : values])
  const hashes = [...files, ...Object.values(optionalFiles)].map(({ hash }) => hash)
  return { ...Object.fromEntries(fields), files: hashes }
}
