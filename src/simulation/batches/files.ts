import type { Archive } from '../../kernel/archive.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import { purpose } from '../../kernel/random.ts'
import { type Generation, Row } from '../../kernel/row.ts'
import type { JournalKindName } from '../journal-kinds.ts'
import { IndexedPart } from '../part.ts'

const ID = purpose('file.id')

/** The bytes of a file. They never change, so forks share them. */
export interface FileContent {
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** Names the content: part of the file's identity. */
  readonly hash: string
}

export class FileRow extends Row {
  declare readonly filename: string
  declare readonly purpose: string
  declare readonly createdAt: Micros
  declare readonly expiresAt: Micros
  /** Undefined after the file expired or was deleted. */
  declare content: FileContent | undefined
  declare readonly bytes: number
  /** The event that ends it. */
  expiryEvent = this.number(0)

  constructor(
    generation: Generation,
    id: string,
    initial: Pick<FileRow, 'filename' | 'purpose' | 'createdAt' | 'expiresAt' | 'content' | 'bytes'>,
  ) {
    super(generation, id)
    this.filename = this.reference(initial.filename)
    this.purpose = this.reference(initial.purpose)
    this.createdAt = this.number(initial.createdAt)
    this.expiresAt = this.number(initial.expiresAt)
    this.content = this.reference(initial.content)
    this.bytes = this.number(initial.bytes)
  }
}

/** A file to read. */
export interface FileHandle {
  readonly id: string
  readonly filename: string
  readonly purpose: string
  readonly bytes: number
  /** Microseconds since the epoch of the world. */
  readonly createdAt: Micros
  readonly expiresAt: Micros
  chunks(): readonly Uint8Array[]
}

export interface NewFile extends FileContent {
  readonly filename: string
  readonly purpose: string
  /** The id that fixtures and batches set. Default: a random id. */
  readonly id?: string
  readonly createdAt?: Micros
  readonly expiresAt?: Micros
  /** The size and the hash that identify the content. Default: its own. */
  readonly identity?: Pick<FileContent, 'bytes' | 'hash'> | undefined
  /** Seconds from its creation to its expiry, if `expiresAt` is missing. Default: that of the profile. */
  readonly lifeSeconds?: number | undefined
}

/** Uploaded files and output files of batches. A file is removed at its `expires_at`. */
export class Files extends IndexedPart<FileRow> {
  protected readonly table = this.tableOf(FileRow)
  #storedBytes = 0

  override archive(archive: Archive): void {
    super.archive(archive)
    this.#storedBytes = archive.value(this.#storedBytes)
  }

  /** The size of all files in bytes. */
  get storedBytes(): number {
    return this.#storedBytes
  }

  get(id: string): FileHandle | undefined {
    const row = this.findById(id)
    return row && toHandle(row)
  }

  /** Returns all files, oldest first. */
  list(): FileHandle[] {
    return [...this.table.entries()].flatMap(([, row]) => toHandle(row) ?? []).sort((a, b) => a.createdAt - b.createdAt)
  }

  create(file: NewFile): FileHandle {
    const { filename, chunks, bytes, identity = file } = file
    const { hash } = identity
    const id =
      file.id ?? `file_${this.context.chance.letters(24, this.context.newKey('file', `${filename}\u0000${hash}`), ID)}`
    const createdAt = file.createdAt ?? this.context.clock.now
    const life = file.lifeSeconds === undefined ? this.context.profile.timings.fileLife : file.lifeSeconds * SECOND
    const expiresAt = file.expiresAt ?? createdAt + life
    const content = { chunks, bytes, hash }
    const initial = { filename, purpose: file.purpose, createdAt, expiresAt, bytes, content }
    const row = new FileRow(this.table.generation, id, initial)
    const ordinal = this.addRow(row)
    this.#storedBytes += bytes
    this.context.record(row, 'file.created', { filename, bytes: identity.bytes, hash })
    row.expiryEvent = this.context.scheduleAt(Math.max(expiresAt, this.context.clock.now), 'file.expired', ordinal)
    this.context.markVisibleChange()
    return this.get(id)!
  }

  onEvent(event: 'file.expired', file: number): void {
    this.#end(file, event)
  }

  /** Deletes a file. A batch that reads the file keeps its bytes. Returns false for an unknown file. */
  delete(id: string): boolean {
    const ordinal = this.ordinalOf(id)
    if (ordinal === undefined || !this.table.read(ordinal).content) return false
    this.context.cancel(this.table.read(ordinal).expiryEvent)
    this.#end(ordinal, 'file.deleted')
    return true
  }

  #end(ordinal: number, kind: JournalKindName): void {
    const row = this.table.writable(ordinal)
    this.#storedBytes -= row.bytes
    row.content = undefined
    row.expiryEvent = 0
    this.context.record(row, kind)
    this.context.markVisibleChange()
  }
}

function toHandle(row: Readonly<FileRow>): FileHandle | undefined {
  const { content, id, filename, purpose, bytes, createdAt, expiresAt } = row
  if (content === undefined) return undefined
  return { id, filename, purpose, bytes, createdAt, expiresAt, chunks: () => content.chunks }
}

const DECODED_BYTES = 65_536

/** Yields the lines of a file without line ends, decoded as UTF-8. An empty last line is ignored. */
export function* decodeLines(chunks: readonly Uint8Array[]): Generator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for (const piece of splitChunks(chunks, DECODED_BYTES)) {
    const text = rest + decoder.decode(piece, { stream: true })
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      yield text.charCodeAt(end - 1) === 13 ? text.slice(start, end - 1) : text.slice(start, end)
      start = end + 1
    }
    rest = text.slice(start)
  }
  rest += decoder.decode()
  if (rest !== '') yield rest
}

/** Tells whether the bytes of a file are UTF-8. */
export function isUtf8(chunks: readonly Uint8Array[]): boolean {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for (const piece of splitChunks(chunks, DECODED_BYTES)) decoder.decode(piece, { stream: true })
    decoder.decode()
    return true
  } catch {
    return false
  }
}

/** Yields chunks in pieces of at most so many bytes. They are views of the chunks. */
export function* splitChunks(chunks: readonly Uint8Array[], bytes: number): Generator<Uint8Array> {
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += bytes) yield chunk.subarray(start, start + bytes)
  }
}
