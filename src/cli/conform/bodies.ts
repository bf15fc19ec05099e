/** Checks answers by the schemas of a document. */
import { createContext, Script } from 'node:vm'
import {
  Ajv2020,
  type CodeKeywordDefinition,
  type ErrorObject,
  type KeywordCxt,
  type ValidateFunction,
} from 'ajv/dist/2020.js'
import * as formats from 'ajv-formats'
import { LIMITS } from '../../lib/limits.ts'
import { DocumentError } from '../files/data-file.ts'
import { type DocumentPart, type Json, type OpenapiDocument, toObject } from './document.ts'
import { fieldsOf, viewOf } from './schema-views.ts'
import type { Difference } from './schemas.ts'

/** Id of the document in the validator. */
const DOCUMENT_ID = 'document:'
/** An escaped letter that means itself in a regular expression without the flag `u`, and another thing elsewhere. */
const FOREIGN_ESCAPE = /(?:^|[^\\])(?:\\\\)*\\(?![BDSWbcdfknrstuvwx])[A-Za-z]/
/** Node ends a script after a time, within a regular expression too. The function belongs to this context. */
const CHECK = new Script('check()')

export class BodyValidator {
  /** Warnings of patterns that cannot be checked, each once. */
  readonly warnings: Difference[] = []
  readonly #invalidPatterns = new Set<string>()
  readonly #document: OpenapiDocument
  readonly #ajv: Ajv2020
  readonly #validators = new Map<string, ValidateFunction>()
  readonly #globals = createContext({ check: (): readonly ErrorObject[] => [] })

  constructor(document: OpenapiDocument) {
    this.#document = document
    this.#ajv = new Ajv2020({
      // A document has keywords beside those of JSON Schema.
      ...{ strict: false, validateSchema: false, allErrors: true, verbose: true, logger: false },
      code: { regExp: Object.assign((pattern: string) => this.#toRegExp(pattern), { code: 'new RegExp' }) },
    })
    // A CommonJS package: Node and bundlers put its function in different places.
    const add = formats.default as unknown as { default?: typeof formats.default } & typeof formats.default
    const plugin = (add.default ?? add) as unknown as (ajv: Ajv2020) => void
    plugin(this.#ajv)
    this.#changeKeyword('required', (context, code) => {
      context.schema = context.schema.filter((name: string) => this.#isAnswered(context.parentSchema, name))
      code(context)
    })
    // A reference to a pointer is never dynamic.
    const { code: refer } = this.#ajv.getKeyword('$ref') as CodeKeywordDefinition
    this.#changeKeyword('$dynamicRef', (context, code) => (context.schema.startsWith('#/') ? refer : code)(context))
    try {
      this.#ajv.addSchema(document.root, DOCUMENT_ID)
    } catch (error) {
      if (error instanceof RangeError) throw error
      const reason = (error as Error).message.replace(/\.$/, '')
      throw new DocumentError(`its references cannot be used (${reason}). Fix its $id and $anchor.`)
    }
  }

  /**
   * Returns the differences between a body and a schema, each place once.
   *
   * @throws DocumentError for an invalid schema, and for one whose check takes too long
   */
  findDifferences(schema: DocumentPart, body: unknown): Difference[] {
    this.#globals.check = () => this.#findInAnyTime(schema, body)
    try {
      return CHECK.runInContext(this.#globals, { timeout: LIMITS.conformTime }) as Difference[]
    } catch (error) {
      const isSlow = (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
      if (!isSlow && !(error instanceof RangeError)) throw error
      const reason = isSlow
        ? `its check takes more than ${LIMITS.conformTime / 1000} s. Simplify its patterns and its nested parts.`
        : 'it applies itself to the same value for ever. Remove that reference.'
      throw new DocumentError(`${schema.pointer}: ${reason}`)
    }
  }

  /** @param change receives the context of a schema with the keyword, and the usual code */
  #changeKeyword(keyword: string, change: (context: KeywordCxt, code: CodeKeywordDefinition['code']) => void): void {
    const definition = this.#ajv.getKeyword(keyword) as CodeKeywordDefinition
    const { code } = definition
    Object.assign(definition, { code: (context: KeywordCxt) => change(context, code) })
  }

  /** Tells whether an answer may have a field that a schema requires. Parts of `allOf` share their fields. */
  #isAnswered(schema: Json, name: string): boolean {
    const $ref = this.#document.pointerOf(schema)?.replace(/(?:\/allOf\/\d+)+$/, '')
    if ($ref === undefined) return true
    const document = this.#document
    const view = viewOf({ document, schema: { value: { $ref }, pointer: $ref } })
    return !view.fields.has(name) || fieldsOf(view, 'answered').has(name)
  }

  /** Returns a pattern with the flag `u` or without it. If it is invalid, warns, and returns what any text matches. */
  #toRegExp(pattern: string): RegExp {
    for (const flags of FOREIGN_ESCAPE.test(pattern) ? ['u'] : ['u', '']) {
      try {
        return new RegExp(pattern, flags)
      } catch {
        // The next flags, or the warning.
      }
    }
    if (!this.#invalidPatterns.has(pattern)) {
      const has = (value: Json) =>
        value.pattern === pattern || Object.hasOwn(toObject(value.patternProperties), pattern)
      const { pointer } = this.#document.find(has)!
      const at = { severity: 'warning', kind: 'value', place: `pattern ${pattern}`, pointer } as const
      this.warnings.push({ ...at, says: 'values match it', ours: 'it is not checked: JavaScript cannot read it' })
    }
    this.#invalidPatterns.add(pattern)
    return /(?:)/
  }

  #findInAnyTime(schema: DocumentPart, body: unknown): Difference[] {
    const validate = this.#validator(schema)
    if (validate(body)) return []
    const errors = validate.errors ?? []
    const alternatives = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
    const found = new Map<string, Difference>()
    for (const error of errors) {
      // If no alternative matches, that is reported once instead of the errors of each.
      if (error.keyword === 'if' || isCoveredByAlternative(error, alternatives)) continue
      const place = this.#document.pointerOf(error.parentSchema)
      const difference = toDifference(error, place === undefined ? schema.pointer : `${place}/${error.keyword}`)
      const key = `${difference.place} ${difference.kind}`
      if (!found.has(key)) found.set(key, difference)
    }
    return [...found.values()]
  }

  #validator({ pointer }: DocumentPart): ValidateFunction {
    const known = this.#validators.get(pointer)
    if (known !== undefined) return known
    try {
      const validator = this.#ajv.compile({ $ref: `${DOCUMENT_ID}${pointer}` })
      this.#validators.set(pointer, validator)
      return validator
    } catch (error) {
      if (error instanceof RangeError || error instanceof DocumentError) throw error
      throw new DocumentError(`${pointer}: invalid schema (${(error as Error).message}). Fix it there.`)
    }
  }
}

function isCoveredByAlternative(error: ErrorObject, alternatives: readonly ErrorObject[]): boolean {
  return alternatives.some(
    ({ schemaPath, instancePath }) =>
      schemaPath !== error.schemaPath &&
      error.instancePath.startsWith(instancePath) &&
      (error.schemaPath.startsWith(`${schemaPath}/`) || error.instancePath === instancePath),
  )
}

function toDifference({ keyword, params, instancePath, schema, data }: ErrorObject, pointer: string): Difference {
  const place = toFieldPath(instancePath)
  const at = { severity: 'break', place: place === '' ? 'the body' : place, pointer } as const
  const name = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  const field = { ...at, kind: 'field', place: place === '' ? name : `${place}.${name}` } as const
  switch (keyword) {
    case 'required':
      return { ...field, says: 'it is required', ours: 'it is missing' }
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return { ...field, says: 'no other fields', ours: 'it is present' }
    case 'type':
      return { ...at, kind: 'type', says: [schema].flat().join(' or '), ours: formatShortJson(data) }
    case 'anyOf':
    case 'oneOf': {
      const ours = `${formatShortJson(data)}, which matches none of them`
      return { ...at, kind: 'type', says: 'one of several schemas', ours }
    }
    case 'enum':
    case 'const': {
      const words = [schema].flat().map(formatShortJson).join(', ')
      return { ...at, kind: 'value', says: `it is one of ${words}`, ours: formatShortJson(data) }
    }
    default:
      return { ...at, kind: 'value', says: `${keyword} ${formatShortJson(schema)}`, ours: formatShortJson(data) }
  }
}

/** Converts `/0/pricing/type` to `[].pricing.type`. */
function toFieldPath(path: string): string {
  return path
    .split('/')
    .slice(1)
    .map(step => (/^\d+$/.test(step) ? '[]' : `.${step.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '')
}

const MAX_SHOWN_CHARS = 80

function formatShortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text
}
