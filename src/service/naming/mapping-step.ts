/** The mapping between neutral and vendor names in one direction, as a tree along a schema. */
import { DEPLOYMENT_STATUSES } from '../../data/records/enums.ts'
import { words } from '../fields.ts'
import type { Names } from './names-profile.ts'
import type { SchemaShape } from './schema-shape.ts'

/** The mapping of one place in a body; undefined if nothing below it changes. */
export interface MappingStep {
  /** Fields that are renamed or have a mapping below them, by their incoming names. */
  readonly fields: ReadonlyMap<string, { readonly name: string; readonly turn: MappingStep | undefined }>
  /** Neutral names that are ignored if the object has their vendor name too. */
  readonly replacedBy: ReadonlyMap<string, string>
  readonly additional: MappingStep | undefined
  readonly items: MappingStep | undefined
  readonly values: ReadonlyMap<string, string>
  readonly translateText: ((text: string) => string) | undefined
}

/**
 * Returns the mapping of a shape in one direction; undefined if nothing changes.
 *
 * @param places the places of the field that has the shape
 */
export function createStep(
  shape: SchemaShape,
  names: Names,
  operation: string,
  direction: 'in' | 'out',
  places: readonly string[] = [],
): MappingStep | undefined {
  const stepFor = (inner: SchemaShape, innerPlaces: readonly string[] | undefined) =>
    createStep(inner, names, operation, direction, innerPlaces)
  const fields = new Map<string, { name: string; turn: MappingStep | undefined }>()
  const yields = new Map<string, string>()
  for (const [neutral, inner] of shape.fields) {
    const fieldPlaces = shape.places.get(neutral)
    const turn = stepFor(inner, fieldPlaces)
    const vendorName = names.fieldName(neutral, fieldPlaces, operation)
    if (vendorName === undefined) {
      if (turn !== undefined) fields.set(neutral, { name: neutral, turn })
    } else if (direction === 'out') fields.set(neutral, { name: vendorName, turn })
    else {
      fields.set(vendorName, { name: neutral, turn })
      if (turn !== undefined) fields.set(neutral, { name: neutral, turn })
      yields.set(neutral, vendorName)
    }
  }
  const values = new Map<string, string>()
  for (const word of shape.allowedWords) {
    const named = names.toVendorValue(word, places, operation)
    if (named !== word) values.set(direction === 'out' ? word : named, direction === 'out' ? named : word)
  }
  const rest = shape.additional && stepFor(shape.additional, places)
  const items = shape.items && stepFor(shape.items, places)
  const text =
    shape.textRole === 'statuses'
      ? createStatusTranslator(names, direction)
      : direction === 'out'
        ? createTextTranslator(shape, names)
        : undefined
  const isIdentity = fields.size === 0 && values.size === 0 && !rest && !items && !text
  return isIdentity ? undefined : { fields, replacedBy: yields, additional: rest, items, values, translateText: text }
}

function createTextTranslator({ textRole: holds }: SchemaShape, names: Names): ((text: string) => string) | undefined {
  if (holds === 'path') return text => names.toVendorPath(text)
  if (holds === 'endpoint') return text => names.toVendorValue(text)
  if (holds === 'tag') return text => names.tags.get(text) ?? names.translateProse(text)
  return holds === 'message' ? text => names.translateProse(text) : undefined
}

/** Returns a translator of statuses of deployments with commas between them; undefined if none has a vendor name. */
function createStatusTranslator(names: Names, direction: 'in' | 'out'): ((text: string) => string) | undefined {
  const pairs = DEPLOYMENT_STATUSES.map(word => [word, names.toVendorValue(word, ['Deployment.status'])] as const)
  if (pairs.every(([word, named]) => word === named)) return undefined
  const targets = new Map(pairs.map(([word, named]) => (direction === 'in' ? [named, word] : [word, named])))
  return text =>
    words(text)
      .map(word => targets.get(word) ?? word)
      .join(',')
}

/** Returns a value with the names that a mapping gives. */
export function applyStep(step: MappingStep | undefined, value: unknown): unknown {
  if (step === undefined) return value
  if (typeof value === 'string') return step.translateText?.(value) ?? step.values.get(value) ?? value
  if (Array.isArray(value)) return step.items === undefined ? value : value.map(entry => applyStep(step.items, entry))
  if (typeof value !== 'object' || value === null) return value
  const entries: [string, unknown][] = []
  for (const [key, inner] of Object.entries(value)) {
    const vendorName = step.replacedBy.get(key)
    if (vendorName !== undefined && Object.hasOwn(value, vendorName)) continue
    const field = step.fields.get(key)
    entries.push(
      field === undefined ? [key, applyStep(step.additional, inner)] : [field.name, applyStep(field.turn, inner)],
    )
  }
  // `fromEntries` defines every key as an own property, `__proto__` too.
  return Object.fromEntries(entries)
}
