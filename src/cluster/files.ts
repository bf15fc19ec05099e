import type { Micros } from '../kernel/duration.ts'
import { Layers } from '../kernel/layers.ts'
import { purpose } from '../kernel/random.ts'
import { type Generation, Row, Table } from '../kernel/table.ts'
import type { Tape } from '../kernel/tape.ts'
import type { World } from './world.ts'

const ID = purpose('file.id')

/** Bytes of a file as they came: never changed, so forks share them. */
export interface Content {
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** Names the content: part of the file's identity. */
  readonly hash: string
}

export class FileRow extends Row {
  readonly filename: string
  readonly purpose: string
  readonly createdAt: Micros
  readonly expiresAt: Micros
  /** Undefined once the file has expired or was deleted. */
  content: Content | undefined
  readonly bytes: number
  /** The event that ends it. */
  next = 0

  constructor(
    generation: Generation,
    id: string,
    about: { filename: string; purpose: string; createdAt: Micros; expiresAt: Micros; bytes: number },
    content: Content | undefined,
  ) {
    super(generation, id)
    this.filename = about.filename
    this.purpose = about.purpose
    this.createdAt = about.createdAt
    this.expiresAt = about.expiresAt
    this.bytes = about.bytes
    this.content = content
  }

  copy(generation: Generation): FileRow {
    const copy = new FileRow(generation, this.id, this, this.content)
    copy.next = this.next
    return copy.takeHash(this)
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

export interface NewFile extends Content {
  readonly filename: string
  readonly purpose: string
  /** Given by fixtures and batches; drawn otherwise. */
  readonly id?: string
  readonly createdAt?: Micros
  readonly expiresAt?: Micros
}

/** Uploaded files and the files that batches write. A file is gone at its `expires_at`. */
export class Files {
  readonly #world: World
  readonly #table: Table<FileRow>
  readonly #byId: Layers<number>
  #stored: number

  constructor(world: World, from?: { table: Table<FileRow>; files: Files }) {
    this.#world = world
    this.#table = from?.table ?? new Table(world.generation)
    this.#byId = from ? from.files.#byId.fork() : new Layers()
    this.#stored = from ? from.files.#stored : 0
  }

  fork(world: World, theirs: Generation): Files {
    return new Files(world, { table: this.#table.fork(theirs, world.generation), files: this })
  }

  keep(tape: Tape): void {
    this.#table.keep(tape)
    this.#byId.keep(tape)
    this.#stored = tape.value(this.#stored)
  }

  /** Bytes of all files that are there. */
  get storedBytes(): number {
    return this.#stored
  }

  get(id: string): FileHandle | undefined {
    const ordinal = this.#byId.get(id)
    return ordinal === undefined ? undefined : handle(this.#table.read(ordinal))
  }

  /** Every file that is there, the oldest first. */
  list(): FileHandle[] {
    return [...this.#table.entries()]
      .flatMap(([, row]) => handle(row) ?? [])
      .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  create(file: NewFile): FileHandle {
    const world = this.#world
    const { filename, chunks, bytes, hash } = file
    const id = file.id ?? `file_${world.chance.letters(24, world.newKey('file', `${filename}\u0000${hash}`), ID)}`
    const createdAt = file.createdAt ?? world.clock.now
    const expiresAt = file.expiresAt ?? createdAt + world.profile.timings.fileLife
    const about = { filename, purpose: file.purpose, createdAt, expiresAt, bytes }
    const row = new FileRow(this.#table.generation, id, about, { chunks, bytes, hash })
    const ordinal = this.#table.add(row)
    this.#byId.set(id, ordinal)
    this.#stored += bytes
    world.happened(row, 'file.created', { filename, bytes, hash })
    row.next = world.planAt(Math.max(expiresAt, world.clock.now), 'file.expired', ordinal)
    world.seen()
    return this.get(id)!
  }

  expire(ordinal: number): void {
    this.#end(ordinal, 'file.expired')
  }

  /** Deletes a file; a batch that was created for it has its bytes all the same. False when there is none. */
  delete(id: string): boolean {
    const ordinal = this.#byId.get(id)
    if (ordinal === undefined || !this.#table.read(ordinal).content) return false
    this.#world.cancel(this.#table.read(ordinal).next)
    this.#end(ordinal, 'file.deleted')
    return true
  }

  #end(ordinal: number, kind: string): void {
    const row = this.#table.own(ordinal)
    this.#stored -= row.bytes
    row.content = undefined
    row.next = 0
    this.#world.happened(row, kind)
    this.#world.seen()
  }
}

function handle(row: Readonly<FileRow>): FileHandle | undefined {
  const { content, id, filename, purpose, bytes, createdAt, expiresAt } = row
  return content && { id, filename, purpose, bytes, createdAt, expiresAt, chunks: () => content.chunks }
}

/** The lines of a file without their line ends, decoded as UTF-8; an empty last line does not count. */
export function* linesOf(chunks: readonly Uint8Array[]): Generator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for (const chunk of chunks) {
    const text = rest + decoder.decode(chunk, { stream: true })
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
