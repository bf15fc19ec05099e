import * as z from 'zod'
import { nearest } from '../kernel/nearest.ts'
import { changedBody } from './bodies.ts'
import { isStream } from './broken.ts'
import { kind } from './kind.ts'

/** What a service may change without breaking its word. */
const LEGAL = ['extraField', 'absentField', 'nullField', 'unknownValue', 'keyOrder'] as const
/** What breaks it. */
const ILLEGAL = ['missingField', 'numberAsString', 'unlistedValue'] as const
/** How many fields an error names. */
const MOST_NAMED = 8

type Change = (typeof LEGAL | typeof ILLEGAL)[number]

/** A field of an answer as the declaration has it; entries of a list stand under `[]`. */
interface Field {
  /** As in `instances.running` or `data[].pricing.prompt`. */
  readonly path: string
  readonly isOptional: boolean
  readonly isNullable: boolean
  readonly isNumber: boolean
  readonly isEnum: boolean
  /** The document leaves room for other values. */
  readonly isOpen: boolean
}

/** An answer that is not what the declaration says, or only just. What is changed is drawn unless `field` names it. */
export const drift = kind({
  schema: z.strictObject({
    kind: z.literal('drift'),
    change: z.enum([...LEGAL, ...ILLEGAL]),
    field: z.string().min(1).optional(),
  }),
  befalls: ({ change, field }, { returns, produces }) =>
    produces === 'application/json' && candidates(returns, change, field).length > 0,
  befallsOnly: 'answers in which something can be changed so',
  misfit({ change, field }, endpoints) {
    const told = endpoints.filter(({ produces }) => produces === 'application/json')
    const fit = [...new Set(told.flatMap(({ returns }) => candidates(returns, change, undefined)))]
    if (field === undefined || fit.length === 0) return undefined
    const path = ['field']
    const fields = told.flatMap(({ returns }) => [...fieldsOf(returns).map(one => one.path), ...objectsOf(returns)])
    if (!fields.includes(field)) {
      const meant = nearest(field, fields)
      const advice = meant === undefined ? `Give one of ${few(fit)}.` : `Did you mean '${meant}'?`
      return { path, reason: `there is no field '${field}' in the answer. ${advice}` }
    }
    return { path, reason: `${change} can not be done to '${field}'. Give one of ${few(fit)}.` }
  },
  async act({ change, field }, hit) {
    const answer = await hit.proceed()
    // A refusal has another shape than the declared one.
    if (answer.status !== 200) return answer
    const { endpoint, spelled } = hit.passage
    const draw = hit.draw()
    const changed = (text: string, places: readonly (readonly string[])[]) => {
      const body: unknown = JSON.parse(text)
      const found = places.filter(steps => isThere(body, steps))
      const chosen = found[Math.floor(draw * found.length)]
      return JSON.stringify(chosen === undefined ? body : edited(body, chosen, change))
    }
    const { status, headers } = answer
    if (!isStream(answer)) {
      const places = candidates(endpoint.returns, change, field).map(one => spelled(stepsOf(one)))
      return new Response(changed(await answer.text(), places), { status, headers })
    }
    const places = candidates(endpoint.streams ?? endpoint.returns, change, field).map(stepsOf)
    const [decoder, encoder] = [new TextDecoder(), new TextEncoder()]
    // Its pieces are whole events.
    const drifted = changedBody(answer.body!, piece =>
      encoder.encode(
        decoder.decode(piece).replaceAll(/^data: (\{.*)$/gm, (_, data) => `data: ${changed(data, places)}`),
      ),
    )
    return new Response(drifted, { status, headers })
  },
})

/** The first of them, for an error. */
function few(paths: readonly string[]): string {
  const named = paths.filter(path => path !== '')
  return `${named.slice(0, MOST_NAMED).join(', ')}${named.length > MOST_NAMED ? ', …' : ''}`
}

/** The places of an answer that a change can be made at; `''` is the answer itself. */
function candidates(schema: z.ZodType, change: Change, field: string | undefined): string[] {
  const fields = fieldsOf(schema)
  const paths =
    change === 'extraField' || change === 'keyOrder'
      ? objectsOf(schema)
      : fields.filter(one => FITS[change](one)).map(({ path }) => path)
  return field === undefined ? paths : paths.filter(path => path === field)
}

const FITS: Readonly<Record<Exclude<Change, 'extraField' | 'keyOrder'>, (field: Field) => boolean>> = {
  absentField: ({ isOptional }) => isOptional,
  nullField: ({ isNullable }) => isNullable,
  unknownValue: ({ isOpen }) => isOpen,
  missingField: ({ isOptional }) => !isOptional,
  numberAsString: ({ isNumber }) => isNumber,
  unlistedValue: ({ isEnum, isOpen }) => isEnum && !isOpen,
}

/** Every field that a declaration names, however deep. */
export function fieldsOf(schema: z.ZodType, under = ''): Field[] {
  const { bare, place } = opened(schema, under)
  return bare.flatMap(one =>
    Object.entries(one.shape).flatMap(([name, declared]) => {
      const path = place === '' ? name : `${place}.${name}`
      return [fieldOf(path, declared as z.ZodType), ...fieldsOf(declared as z.ZodType, path)]
    }),
  )
}

/** The places at which an object stands: the answer, the entries of a list, objects within. */
function objectsOf(schema: z.ZodType, under = ''): string[] {
  const { bare, place } = opened(schema, under)
  const inner = bare.flatMap(one =>
    Object.entries(one.shape).flatMap(([name, declared]) =>
      objectsOf(declared as z.ZodType, place === '' ? name : `${place}.${name}`),
    ),
  )
  return bare.length > 0 ? [...new Set([place, ...inner])] : []
}

/** The objects that a schema stands for, and where: behind wrappers, in a list, one of several. */
function opened(schema: z.ZodType, place: string): { bare: z.ZodObject[]; place: string } {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodArray) return opened(inner.element as z.ZodType, `${place}[]`)
  if (inner instanceof z.ZodObject) return { bare: [inner], place }
  if (inner instanceof z.ZodDiscriminatedUnion) return { bare: inner.options as z.ZodObject[], place }
  return { bare: [], place }
}

function fieldOf(path: string, declared: z.ZodType): Field {
  const inner = unwrapped(declared)
  return {
    path,
    isOptional: declared.safeParse(undefined).success,
    isNullable: declared.safeParse(null).success,
    isNumber: inner instanceof z.ZodNumber,
    isEnum: inner instanceof z.ZodEnum || inner instanceof z.ZodLiteral,
    isOpen: inner.meta()?.['x-open'] === true,
  }
}

function unwrapped(schema: z.ZodType): z.ZodType {
  let inner = schema
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault) {
    inner = inner.unwrap() as z.ZodType
  }
  return inner
}

function stepsOf(path: string): string[] {
  return path
    .replaceAll('[]', '.[]')
    .split('.')
    .filter(step => step !== '')
}

function isThere(value: unknown, steps: readonly string[]): boolean {
  const [step, ...rest] = steps
  if (step === undefined) return true
  if (step === '[]') return Array.isArray(value) && value.some(entry => isThere(entry, rest))
  return isObject(value) && Object.hasOwn(value, step) && isThere(value[step], rest)
}

/** The value with the change made, in every entry of a list that has the place. */
function edited(value: unknown, steps: readonly string[], change: Change): unknown {
  const [step, ...rest] = steps
  if (step === '[]') return Array.isArray(value) ? value.map(entry => edited(entry, rest, change)) : value
  if (!isObject(value)) return value
  if (step === undefined) {
    return change === 'keyOrder'
      ? Object.fromEntries(Object.entries(value).reverse())
      : { ...value, not_in_the_document: 'a field of a later version' }
  }
  if (!Object.hasOwn(value, step)) return value
  const there = value[step]
  // On the way, or at an object that gets a field or another order itself.
  if (rest.length > 0 || change === 'extraField' || change === 'keyOrder') {
    return { ...value, [step]: edited(there, rest, change) }
  }
  switch (change) {
    case 'absentField':
    case 'missingField': {
      const { [step]: _, ...others } = value
      return others
    }
    case 'nullField':
      return { ...value, [step]: null }
    case 'numberAsString':
      return { ...value, [step]: String(there) }
    case 'unknownValue':
    case 'unlistedValue':
      return { ...value, [step]: 'not_in_the_document' }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
