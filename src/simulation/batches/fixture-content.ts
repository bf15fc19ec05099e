/** The files of a fixture. Their content is the same in every world of that fixture, so it is read once. */
import type { FileSeed } from '../../data/records/seeds.ts'
import { hashBytes } from '../../kernel/random.ts'
import { once, oncePer } from '../../lib/once.ts'
import type { Steps } from '../../lib/slices.ts'
import { decodeLines, type FileContent, isUtf8 } from './files.ts'
import {
  type BatchEndpoint,
  type BatchError,
  type InputSummary,
  type LineRequest,
  type OnLine,
  readBatchLines,
  type TranslateLine,
  toInvalidLine,
} from './input-lines.ts'

interface ParsedInput extends InputSummary {
  readonly endpoint: BatchEndpoint
  readonly requests: readonly LineRequest[]
  /** Whether the bodies were parsed, too. The constructor of a world does not parse them. */
  readonly hasParsedBodies: boolean
}

/** Inputs by the chunks of their content, which never change. */
const parsedInputCache = new WeakMap<readonly Uint8Array[], readonly ParsedInput[]>()

/** Returns the bytes of a file of a fixture; undefined if the fixture does not give its content. */
export const fixtureFileContent = oncePer((seed: FileSeed): FileContent | undefined => {
  if (seed.content === undefined) return undefined
  const bytes = new TextEncoder().encode(seed.content)
  const content = { chunks: [bytes], bytes: bytes.length, hash: hashBytes(bytes) }
  parsedInputCache.set(content.chunks, [])
  return content
})

/**
 * Reads the input of a batch. The lines of an uploaded file are not cached. Lines of a fixture have neutral names.
 *
 * @param parseBody parses a body independently of the world; undefined to parse it later
 * @param translate Default: the lines have neutral names
 */
export function* readInput(
  input: readonly Uint8Array[],
  endpoint: BatchEndpoint,
  onLine: OnLine,
  parseBody?: (body: LineRequest['body']) => unknown,
  translate?: TranslateLine,
): Steps<InputSummary> {
  const cached = parsedInputCache.get(input)
  if (cached === undefined)
    return yield* readBatchLines(
      decodeLines(input),
      endpoint,
      onLine,
      once(() => isUtf8(input)),
      translate,
    )
  let parsedInput = cached.find(one => one.endpoint === endpoint)
  if (parsedInput === undefined || (parseBody !== undefined && !parsedInput.hasParsedBodies)) {
    parsedInput = yield* parseFixtureInput(input, endpoint, parseBody)
    parsedInputCache.set(input, [...cached.filter(one => one.endpoint !== endpoint), parsedInput])
  }
  const bodyErrors: BatchError[] = []
  for (const request of parsedInput.requests) {
    yield
    const invalidBody = onLine(request, parsedInput.model)
    if (invalidBody) bodyErrors.push(toInvalidLine(endpoint, request.line, invalidBody))
  }
  return bodyErrors.length === 0 ? parsedInput : { ...parsedInput, errors: [...parsedInput.errors, ...bodyErrors] }
}

function* parseFixtureInput(
  input: readonly Uint8Array[],
  endpoint: BatchEndpoint,
  parseBody: ((body: LineRequest['body']) => unknown) | undefined,
): Steps<ParsedInput> {
  const requests: LineRequest[] = []
  const onLine: OnLine = ({ line, customId, body }) => {
    requests.push({ line, customId, body, parsed: parseBody?.(body) })
    return undefined
  }
  // The content of a fixture is a text.
  const summary = yield* readBatchLines(decodeLines(input), endpoint, onLine, () => true)
  return { ...summary, endpoint, requests, hasParsedBodies: parseBody !== undefined }
}
