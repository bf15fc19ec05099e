/** Reading forms: uploads, streamed at a constant cost in memory beside the files themselves, and forms of texts alone. */

import { ByteHash } from '../../../kernel/random.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { once } from '../../../lib/once.ts'
import type { SizeLimit, UploadedFile } from '../../endpoint.ts'
import { RefusalError } from '../../refusals.ts'
import type { ValidationDetail } from '../validation-errors.ts'
import { readText } from './text-body.ts'

export interface UploadForm {
  /** Text fields. If a field is repeated, the last value counts. */
  fields: Record<string, string>
  /** All values of each text field, for fields that are lists. `name[]` is an entry of the list `name`. */
  lists: Record<string, string[]>
  /** The files of the upload, in order; the last of them is the one where there should be one. */
  files: UploadedFile[]
  file: UploadedFile | undefined
  /** The files of the optional parts; of several of one name, the last. */
  optionalFiles: Record<string, UploadedFile>
  /** The file came as a plain text field. */
  fileAsText: boolean
}

export type UploadResult = { form: UploadForm } | { refused: RefusalError } | { issues: ValidationDetail[] }

export interface UploadLimits {
  /** Name of the part that is the file. Default: `file`. */
  part?: string | undefined
  /** Whether a part with `[]` behind that name is such a file, too. Default: false. */
  isList?: boolean | undefined
  /** Names of further parts that may be files. */
  optionalParts?: readonly string[] | undefined
  /** Required text fields, for the errors of a body that is not a form. */
  required?: readonly string[] | undefined
  limit: SizeLimit
  limitFor?: ((fields: Readonly<Record<string, string>>) => SizeLimit | undefined) | undefined
}

/** Reads the form. What is refused is cut off where it is noticed: nothing of it is kept. */
export async function readUpload(
  request: Request,
  contentType: string | null,
  limits: UploadLimits,
): Promise<UploadResult> {
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType ?? '')) {
    const names = [...(limits.required ?? []), filePartName(limits)]
    const missing = names.map(name => ({ loc: ['body', name], msg: 'Field required', type: 'missing' }))
    return { issues: [...notMultipartDetails(contentType), ...missing] }
  }
  if (Number(request.headers.get('content-length') ?? 0) > limits.limit.bytes + LIMITS.framingBytes) {
    return { refused: createTooLarge(limits.limit) }
  }
  try {
    const form = isNode() ? await readStreamed(request, contentType!, limits) : await readBuffered(request, limits)
    return { form }
  } catch (error) {
    if (error instanceof RefusalError) return { refused: error }
    if (error instanceof ParserNotLoadedError) throw error
    const message = error instanceof Error ? error.message : String(error)
    return { issues: [{ loc: ['body'], msg: `Multipart decode error: ${message}`, type: 'value_error' }] }
  }
}

/** Reads a form of texts: url-encoded, or multipart, whose files are ignored. Without a body it is empty. */
export async function readForm(
  request: Request,
  contentType: string | null,
): Promise<Pick<UploadForm, 'fields' | 'lists'> | Exclude<UploadResult, { form: UploadForm }>> {
  if (/^multipart\/form-data\s*(;|$)/i.test(contentType ?? '')) {
    const limit = { bytes: LIMITS.ignoredBytes, refusal: 'Request Entity Too Large' }
    const upload = await readUpload(request, contentType, { part: '', limit })
    return 'form' in upload ? upload.form : upload
  }
  const form = emptyForm()
  if (contentType === null && request.body === null) return form
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')) {
    return { refused: createUnsupportedMediaType(['application/x-www-form-urlencoded', 'multipart/form-data']) }
  }
  const body = await readText(request, LIMITS.formFieldBytes)
  if ('refused' in body) return body
  for (const [name, value] of new URLSearchParams(body.text)) addText(form, name, value)
  return form
}

/** The refusal of a body of a content type that is not read, which names those that are. */
export function createUnsupportedMediaType(types: readonly string[]): RefusalError {
  const detail = `Unsupported Media Type: send ${types.join(' or ')}`
  return new RefusalError(415, detail, { accept: types.join(', ') }, { detail })
}

function filePartName({ part = 'file' }: UploadLimits): string {
  return part
}

function createTooLarge(limit: SizeLimit): RefusalError {
  return new RefusalError(413, limit.refusal)
}

function notMultipartDetails(contentType: string | null): ValidationDetail[] {
  const actualType = contentType === null ? 'none' : `'${contentType}'`
  const msg = `Value error, the content type should be multipart/form-data, got ${actualType}`
  return [{ loc: ['header', 'content-type'], msg, type: 'value_error' }]
}

/**
 * Loads the parser on the first call. It is a package in CommonJS: loaded by Node it has its names, and in a bundle in
 * parts they are members of its default export.
 */
export const loadFormParser = once(async (): Promise<typeof import('@fastify/busboy').Busboy> => {
  const loaded = await import('@fastify/busboy')
  const parser = loaded.Busboy ?? (loaded.default as unknown as typeof loaded | undefined)?.Busboy
  if (typeof parser !== 'function') throw new ParserNotLoadedError('the multipart parser has no class Busboy')
  return parser
})

/** A fault of ours: never the client's 422. */
class ParserNotLoadedError extends Error {}

function isNode(): boolean {
  return typeof globalThis.process?.versions?.node === 'string'
}

async function readStreamed(request: Request, contentType: string, limits: UploadLimits): Promise<UploadForm> {
  const Busboy = await loadFormParser()
  const form = emptyForm()
  const isRead = (name: string) => isFilePart(limits, name)
  const parser = new Busboy({
    headers: { 'content-type': contentType },
    // No part fills its buffer: one without a name that does so as it ends would never be let go of.
    fileHwm: 2 ** 30,
    limits: { parts: LIMITS.formParts, fieldSize: LIMITS.formFieldBytes },
    isPartAFile: (_name, _type, filename) => filename !== undefined,
  })
  let failure: unknown
  const done = new Promise<void>(resolve => {
    const fail = (error: unknown) => {
      failure ??= error
      resolve()
    }
    let bytes = 0
    let { limit } = limits
    const checkLimit = () => {
      if (bytes > limit.bytes) fail(createTooLarge(limit))
    }
    parser.on('error', fail)
    parser.on('finish', resolve)
    parser.on('partsLimit', () => fail(new Error(`more than ${LIMITS.formParts} parts`)))
    parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
      if (valueTruncated)
        fail(new Error(`the field '${name.slice(0, 64)}' is longer than ${LIMITS.formFieldBytes} bytes`))
      addField(form, limits, name, value)
      limit = effectiveLimit(limits, form)
      checkLimit()
    })
    parser.on('file', (name, stream, filename) => {
      const content = new FileAccumulator()
      stream.on('error', fail)
      stream.on('data', (chunk: Uint8Array) => {
        bytes += chunk.length
        checkLimit()
        if (failure === undefined && isRead(name)) content.add(chunk)
      })
      stream.on('end', () => {
        if (isRead(name)) addFile(form, limits, name, content.close(filename))
      })
    })
  })

  const reader = request.body?.getReader()
  let writtenBytes = 0
  try {
    while (reader !== undefined && failure === undefined) {
      const { done: isEnd, value } = await reader.read()
      if (isEnd) break
      if (!parser.write(value)) await waitForDrain(parser, () => failure !== undefined)
      writtenBytes += value.length
      if (writtenBytes >= LARGE_CHUNK_BYTES) {
        writtenBytes = 0
        // The parts hand on what they hold in ticks, which a body that is here already would not let happen.
        await new Promise<void>(resolve => process.nextTick(resolve))
      }
    }
    if (failure === undefined) {
      parser.end()
      await done
    }
  } finally {
    if (failure !== undefined) {
      parser.destroy()
      // The rest of the body is not needed. The transport handles a client that keeps sending.
      reader?.cancel().catch(() => {})
    }
  }
  if (failure !== undefined) throw failure
  return form
}

function waitForDrain(
  parser: { once(event: 'drain' | 'error' | 'close', listener: () => void): unknown },
  hasFailed: () => boolean,
) {
  return new Promise<void>(resolve => {
    if (hasFailed()) resolve()
    parser.once('drain', resolve)
    parser.once('error', resolve)
    parser.once('close', resolve)
  })
}

/** In a browser's worker: the platform's parser, which holds the whole body. */
async function readBuffered(request: Request, limits: UploadLimits): Promise<UploadForm> {
  const form = emptyForm()
  let parts = 0
  for (const [name, value] of await request.formData()) {
    if (++parts > LIMITS.formParts) throw new Error(`more than ${LIMITS.formParts} parts`)
    if (typeof value === 'string') addField(form, limits, name, value)
    else if (isFilePart(limits, name)) {
      const content = new FileAccumulator()
      content.add(new Uint8Array(await value.arrayBuffer()))
      addFile(form, limits, name, content.close(value.name))
    }
    const limit = effectiveLimit(limits, form)
    const files = [...form.files, ...Object.values(form.optionalFiles)]
    if (files.reduce((sum, { bytes }) => sum + bytes, 0) > limit.bytes) throw createTooLarge(limit)
  }
  return form
}

/** The limit as far as the form is known. */
function effectiveLimit({ limit, limitFor }: UploadLimits, { fields }: UploadForm): SizeLimit {
  const fieldLimit = limitFor?.(fields)
  return fieldLimit !== undefined && fieldLimit.bytes < limit.bytes ? fieldLimit : limit
}

function emptyForm(): UploadForm {
  // Without a prototype, so that a field named `constructor` is only a field.
  const createRecord = <Value>() => Object.create(null) as Record<string, Value>
  const records = {
    fields: createRecord<string>(),
    lists: createRecord<string[]>(),
    optionalFiles: createRecord<UploadedFile>(),
  }
  return { ...records, files: [], file: undefined, fileAsText: false }
}

function isMainPart(limits: UploadLimits, name: string | undefined): boolean {
  const part = filePartName(limits)
  return name === part || (limits.isList === true && name === `${part}[]`)
}

function isFilePart(limits: UploadLimits, name: string): boolean {
  return isMainPart(limits, name) || limits.optionalParts?.includes(name) === true
}

function addFile(form: UploadForm, limits: UploadLimits, name: string, file: UploadedFile): void {
  if (!isMainPart(limits, name)) form.optionalFiles[name] = file
  else {
    form.files.push(file)
    form.file = file
  }
}

/** @param name undefined for a part without a name */
function addField(form: UploadForm, limits: UploadLimits, name: string | undefined, value: string): void {
  if (isMainPart(limits, name)) {
    form.fileAsText = true
    return
  }
  if (name !== undefined) addText(form, name, value)
}

function addText(form: UploadForm, name: string, value: string): void {
  form.fields[name] = value
  const listName = name.endsWith('[]') ? name.slice(0, -2) : name
  form.lists[listName] ??= []
  form.lists[listName].push(value)
}

const BLOCK_BYTES = 65_536
const LARGE_CHUNK_BYTES = 16_384

/** The content of a file as it comes: large pieces are kept as they are, small ones gathered into blocks. */
class FileAccumulator {
  readonly #chunks: Uint8Array[] = []
  readonly #hash = new ByteHash()
  #bytes = 0
  #block: Uint8Array | undefined
  #used = 0

  add(chunk: Uint8Array): void {
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    if (chunk.length >= LARGE_CHUNK_BYTES) {
      this.#flush()
      this.#chunks.push(chunk)
      return
    }
    if (this.#block === undefined || this.#used + chunk.length > BLOCK_BYTES) {
      this.#flush()
      this.#block = new Uint8Array(BLOCK_BYTES)
    }
    this.#block.set(chunk, this.#used)
    this.#used += chunk.length
  }

  close(filename: string | undefined): UploadedFile {
    this.#flush()
    return { filename: filename ?? '', chunks: this.#chunks, bytes: this.#bytes, hash: this.#hash.digest() }
  }

  #flush(): void {
    if (this.#block !== undefined && this.#used > 0) this.#chunks.push(this.#block.slice(0, this.#used))
    this.#block = undefined
    this.#used = 0
  }
}
