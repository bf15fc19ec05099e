/** Reading forms: uploads, streamed at a constant cost in memory beside the files themselves, and forms of texts alone. */
import { ByteHash } from '../kernel/random.ts'
import { Refused, type SizeLimit, type UploadedFile } from './endpoint.ts'
import type { Detail } from './validation.ts'

/** Parts of a form, file and fields together; nobody sends more in earnest. */
const MAX_PARTS = 100
/** Bytes of one text field. */
const MAX_FIELD = 1_048_576
/** Bytes of files that come with a form and that nobody wants. */
const MAX_UNWANTED = 32 * MAX_FIELD
/** What boundaries, part headers and text fields may add to a file before Content-Length alone refuses it. */
const FRAMING = 2 * MAX_FIELD

export interface Form {
  fields: Record<string, string>
  /** The files of the upload, in order; the last of them is the one where there should be one. */
  files: UploadedFile[]
  file: UploadedFile | undefined
  /** The file came as a plain text field. */
  fileAsText: boolean
}

export type Upload = { form: Form } | { refused: Refused } | { issues: Detail[] }

export interface UploadLimits {
  /** Name of the part that is the file: `file` unless given. */
  part?: string | undefined
  /** Text fields that have to be there, for what is told of a body that is no form. */
  required?: readonly string[] | undefined
  limit: SizeLimit
  limitFor?: ((fields: Readonly<Record<string, string>>) => SizeLimit | undefined) | undefined
}

/** Reads the form. What is refused is cut off where it is noticed: nothing of it is kept. */
export async function readUpload(request: Request, contentType: string | null, limits: UploadLimits): Promise<Upload> {
  if (!/^multipart\/form-data\s*(;|$)/i.test(contentType ?? '')) {
    return { issues: [...notMultipart(contentType), ...missing([...(limits.required ?? []), partOf(limits)])] }
  }
  if (Number(request.headers.get('content-length') ?? 0) > limits.limit.bytes + FRAMING) {
    return { refused: tooLarge(limits.limit) }
  }
  try {
    const form = runsUnderNode() ? await streamed(request, contentType!, limits) : await buffered(request, limits)
    return { form }
  } catch (error) {
    if (error instanceof Refused) return { refused: error }
    if (error instanceof NotLoaded) throw error
    const message = error instanceof Error ? error.message : String(error)
    return { issues: [{ loc: ['body'], msg: `Multipart decode error: ${message}`, type: 'value_error' }] }
  }
}

/** A form of texts: url-encoded, or multipart, whose files nobody wants; without a body it is empty. */
export async function readForm(
  request: Request,
  contentType: string | null,
): Promise<{ fields: Record<string, string> } | Exclude<Upload, { form: Form }>> {
  if (/^multipart\/form-data\s*(;|$)/i.test(contentType ?? '')) {
    const limit = { bytes: MAX_UNWANTED, refusal: 'Request Entity Too Large' }
    const read = await readUpload(request, contentType, { part: '', limit })
    return 'form' in read ? { fields: read.form.fields } : read
  }
  const fields = emptyForm().fields
  if (contentType === null && request.body === null) return { fields }
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')) {
    return { refused: unreadable(['application/x-www-form-urlencoded', 'multipart/form-data']) }
  }
  const text = await request.text()
  if (text.length > MAX_FIELD) {
    return { refused: new Refused(413, 'Request Entity Too Large', undefined, { detail: 'Request Entity Too Large' }) }
  }
  for (const [name, value] of new URLSearchParams(text)) fields[name] = value
  return { fields }
}

/** The refusal of a body of a content type that is not read, which names those that are. */
export function unreadable(types: readonly string[]): Refused {
  const detail = `Unsupported Media Type: send ${types.join(' or ')}`
  return new Refused(415, detail, { accept: types.join(', ') }, { detail })
}

function partOf({ part = 'file' }: UploadLimits): string {
  return part
}

function tooLarge(limit: SizeLimit): Refused {
  return new Refused(413, limit.refusal)
}

function notMultipart(contentType: string | null): Detail[] {
  const got = contentType === null ? 'none' : `'${contentType}'`
  const msg = `Value error, the content type should be multipart/form-data, got ${got}`
  return [{ loc: ['header', 'content-type'], msg, type: 'value_error' }]
}

function missing(names: readonly string[]): Detail[] {
  return names.map(name => ({ loc: ['body', name], msg: 'Field required', type: 'missing' }))
}

/** A package in CommonJS: loaded by Node it has its names, from a bundle in parts they stand on its default alone. */
async function parserClass(): Promise<typeof import('@fastify/busboy').Busboy> {
  const loaded = await import('@fastify/busboy')
  const found = loaded.Busboy ?? (loaded.default as unknown as typeof loaded | undefined)?.Busboy
  if (typeof found !== 'function') throw new NotLoaded('the multipart parser has no class Busboy')
  return found
}

/** A fault of ours: never the client's 422. */
class NotLoaded extends Error {}

function runsUnderNode(): boolean {
  return typeof globalThis.process?.versions?.node === 'string'
}

async function streamed(request: Request, contentType: string, limits: UploadLimits): Promise<Form> {
  const Busboy = await parserClass()
  const form = emptyForm()
  const part = partOf(limits)
  const parser = new Busboy({
    headers: { 'content-type': contentType },
    // No part fills its buffer: one without a name that does so as it ends would never be let go of.
    fileHwm: 2 ** 30,
    limits: { parts: MAX_PARTS, fieldSize: MAX_FIELD },
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
    const judge = () => {
      if (bytes > limit.bytes) fail(tooLarge(limit))
    }
    parser.on('error', fail)
    parser.on('finish', resolve)
    parser.on('partsLimit', () => fail(new Error(`more than ${MAX_PARTS} parts`)))
    parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
      if (valueTruncated) fail(new Error(`the field '${name.slice(0, 64)}' is longer than ${MAX_FIELD} bytes`))
      addField(form, part, name, value)
      limit = tighter(limits, form)
      judge()
    })
    parser.on('file', (name, stream, filename) => {
      const content = new Content()
      stream.on('error', fail)
      stream.on('data', (chunk: Uint8Array) => {
        bytes += chunk.length
        judge()
        if (failure === undefined && name === part) content.add(chunk)
      })
      stream.on('end', () => {
        if (name === part) addFile(form, content.close(filename))
      })
    })
  })

  const reader = request.body?.getReader()
  let written = 0
  try {
    while (reader !== undefined && failure === undefined) {
      const { done: ended, value } = await reader.read()
      if (ended) break
      if (!parser.write(value)) await drained(parser, () => failure !== undefined)
      written += value.length
      if (written >= LARGE) {
        written = 0
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
      // The rest of the body is of no use; a client that does not take the hint is the door's business.
      reader?.cancel().catch(() => {})
    }
  }
  if (failure !== undefined) throw failure
  return form
}

function drained(
  parser: { once(event: 'drain' | 'error' | 'close', listener: () => void): unknown },
  failed: () => boolean,
) {
  return new Promise<void>(resolve => {
    if (failed()) resolve()
    parser.once('drain', resolve)
    parser.once('error', resolve)
    parser.once('close', resolve)
  })
}

/** In a browser's worker: the platform's parser, which holds the whole body. */
async function buffered(request: Request, limits: UploadLimits): Promise<Form> {
  const form = emptyForm()
  const part = partOf(limits)
  let parts = 0
  for (const [name, value] of await request.formData()) {
    if (++parts > MAX_PARTS) throw new Error(`more than ${MAX_PARTS} parts`)
    if (typeof value === 'string') addField(form, part, name, value)
    else if (name === part) {
      const content = new Content()
      content.add(new Uint8Array(await value.arrayBuffer()))
      addFile(form, content.close(value.name))
    }
    const limit = tighter(limits, form)
    if (form.files.reduce((sum, { bytes }) => sum + bytes, 0) > limit.bytes) throw tooLarge(limit)
  }
  return form
}

/** The limit as far as the form is known. */
function tighter({ limit, limitFor }: UploadLimits, { fields }: Form): SizeLimit {
  const known = limitFor?.(fields)
  return known !== undefined && known.bytes < limit.bytes ? known : limit
}

function emptyForm(): Form {
  // Without a prototype, so that a field named `constructor` is only a field.
  return { fields: Object.create(null) as Record<string, string>, files: [], file: undefined, fileAsText: false }
}

function addFile(form: Form, file: UploadedFile): void {
  form.files.push(file)
  form.file = file
}

function addField(form: Form, part: string, name: string, value: string): void {
  if (name === part) form.fileAsText = true
  else form.fields[name] = value
}

const BLOCK = 65_536
const LARGE = 16_384

/** The content of a file as it comes: large pieces are kept as they are, small ones gathered into blocks. */
class Content {
  readonly #chunks: Uint8Array[] = []
  readonly #hash = new ByteHash()
  #bytes = 0
  #block: Uint8Array | undefined
  #used = 0

  add(chunk: Uint8Array): void {
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    if (chunk.length >= LARGE) {
      this.#flush()
      this.#chunks.push(chunk)
      return
    }
    if (this.#block === undefined || this.#used + chunk.length > BLOCK) {
      this.#flush()
      this.#block = new Uint8Array(BLOCK)
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
