/** Checks the headers of answers by those that a document declares. */
import type { BodyValidator } from './bodies.ts'
import { type DocumentPart, type OpenapiDocument, toObject } from './document.ts'
import type { ReportFinding } from './findings.ts'

/** The headers that the document declares for the answers of one operation, and which optional ones an answer had. */
export class AnswerHeaders {
  readonly #document: OpenapiDocument
  readonly #bodies: BodyValidator
  /** By pointer of the header. */
  readonly #optional = new Map<string, { name: string; status: number; wasPresent: boolean }>()

  constructor(document: OpenapiDocument, bodies: BodyValidator) {
    this.#document = document
    this.#bodies = bodies
  }

  /** Reports required headers that an answer does not have, and values that differ from their schema. */
  check(answer: Response, response: DocumentPart, report: ReportFinding): void {
    const { status, headers } = answer
    for (const name of Object.keys(toObject(response.value.headers))) {
      const header = this.#document.partAt(response, 'headers', name)
      // OpenAPI ignores a declared Content-Type: the media types declare it.
      if (header === undefined || name.toLowerCase() === 'content-type') continue
      const { pointer } = header
      const at = { severity: 'break', kind: 'header', place: `answer ${status}, header ${name}`, pointer } as const
      const value = headers.get(name)
      if (header.value.required !== true) {
        const known = this.#optional.get(pointer) ?? { name, status, wasPresent: false }
        this.#optional.set(pointer, { ...known, wasPresent: known.wasPresent || value !== null })
      } else if (value === null) report({ ...at, says: 'it is required', ours: 'it is missing' })
      const schema = this.#document.partAt(header, 'schema')
      if (value === null || schema === undefined) continue
      for (const { says, ours } of this.#findDifferences(schema, value)) report({ ...at, says, ours })
    }
  }

  /** Reports the optional headers that no answer had. */
  reportMissing(report: ReportFinding): void {
    for (const [pointer, { name, status, wasPresent }] of this.#optional) {
      if (wasPresent) continue
      const at = { severity: 'warning', kind: 'header', place: `answer ${status}, header ${name}`, pointer } as const
      report({ ...at, says: 'it may be present', ours: 'no answer has it' })
    }
  }

  /** Compares the text of a header, or the number or boolean that it says, with a schema. */
  #findDifferences(schema: DocumentPart, text: string) {
    const asText = this.#bodies.findDifferences(schema, text)
    const isWord = asText.every(({ kind }) => kind !== 'type')
    if (isWord || !/^(true|false|-?\d+(\.\d+)?)$/.test(text)) return asText
    return this.#bodies.findDifferences(schema, JSON.parse(text))
  }
}
