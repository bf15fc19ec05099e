/** Reads files in JSON or YAML. */
import { readFileSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { describeFileError } from '../../lib/errors.ts'
import { parseJsonText } from '../../lib/json-text.ts'
import { UsageError } from '../command.ts'

/** The document cannot be used. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError'
}

/**
 * Reads a file in JSON or YAML.
 *
 * @param name the file with its flag, for errors
 * @throws UsageError if the file is missing or invalid
 */
export function readDataFile(path: string, name: string): unknown {
  try {
    return parseDocumentText(readFileSync(path, 'utf8'))
  } catch (error) {
    const advice = error instanceof DocumentError ? '' : '. Give a file in JSON or YAML.'
    throw new UsageError(`Failed to read ${name}: ${describeFileError(error)}${advice}`)
  }
}

/**
 * Parses a document, JSON or YAML.
 *
 * @throws DocumentError for a text that is neither, for a key that an object has twice, and for aliases that cannot be used
 */
export function parseDocumentText(content: string): unknown {
  if (/^\s*[[{]/.test(content)) {
    const json = parseJsonText(content, true)
    if ('value' in json) return json.value
    const { line, column, reason } = json.fault
    throw new DocumentError(`line ${line}, column ${column}: ${reason}. Fix the JSON there.`)
  }
  if (/^\s*\/[/*]/.test(content)) throw new DocumentError('line 1, column 1: JSON has no comments. Remove it.')
  const document = parseDocument(content, { merge: true })
  const [error] = document.errors
  if (error?.code === 'MULTIPLE_DOCS') {
    const { line, col } = error.linePos![0]
    throw new DocumentError(`line ${line}, column ${col}: a second document begins here. Put it into its own file.`)
  }
  if (error !== undefined)
    throw new DocumentError(`${error.message.split('\n', 1)[0]!.replace(/:$/, '.')} Fix the YAML there.`)
  try {
    // Nested aliases can expand to gigabytes.
    return document.toJS({ maxAliasCount: 10_000 })
  } catch (error) {
    if (error instanceof RangeError) throw error
    const reason = (error as Error).message
    throw new DocumentError(
      `its aliases and merge keys cannot be used (${reason}). Write their contents out, or use $ref.`,
    )
  }
}
