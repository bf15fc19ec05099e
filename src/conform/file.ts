/** A document in a file, JSON or YAML. */
import { readFileSync, statSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { parseJsonText } from '../store/json-text.ts'
import { DocumentError } from './document.ts'

/** @throws DocumentError for a file that is not there or holds neither */
export function readDocument(path: string): unknown {
  const entry = statSync(path, { throwIfNoEntry: false })
  if (!entry?.isFile()) {
    throw new DocumentError(`${entry ? 'it is no file' : 'there is no such file'}. Give an OpenAPI document.`)
  }
  const content = readFileSync(path, 'utf8')
  if (/^\s*\{/.test(content)) {
    const parsed = parseJsonText(content)
    if ('value' in parsed) return parsed.value
    const { line, column, reason } = parsed.fault
    throw new DocumentError(`line ${line}, column ${column}: ${reason}. Fix the JSON there.`)
  }
  const document = parseDocument(content)
  const [error] = document.errors
  if (error !== undefined) throw new DocumentError(`${error.message.split('\n', 1)[0]} Fix the YAML there.`)
  // Anchors may stand for one another many times over.
  return document.toJS({ maxAliasCount: 10_000 })
}
