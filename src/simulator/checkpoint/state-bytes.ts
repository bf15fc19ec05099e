/** The bytes of a simulator's state. */
import { describeRow, type Row, type RowClass } from '../../kernel/row.ts'
import {
  CLASSES_ARCHIVED_BY_FIELDS,
  CLASSES_ARCHIVED_BY_PARTS,
  ROW_CLASSES,
} from '../../simulation/archived-classes.ts'
import type { SerializableClasses } from './codec/graph-forms.ts'
import { decodeGraph } from './codec/graph-reader.ts'
import { encodeGraph } from './codec/graph-writer.ts'

/** Rows are written by their declarations. */
const ROWS = Object.entries(ROW_CLASSES).map(([name, of]) => [
  name,
  { of, declared: describeRow(of as unknown as RowClass<Row>) },
])

const SERIALIZABLE_CLASSES: SerializableClasses = {
  ...Object.fromEntries(ROWS),
  ...Object.fromEntries(Object.entries(CLASSES_ARCHIVED_BY_FIELDS).map(([name, of]) => [name, { of }])),
  ...(CLASSES_ARCHIVED_BY_PARTS as unknown as SerializableClasses),
}

/**
 * Returns the bytes of a state and of all that it refers to, in pieces.
 *
 * @param hasForks whether it has more than one world. Forks share rows.
 */
export function encodeState(state: object, hasForks: boolean): readonly Uint8Array[] {
  return encodeGraph(state, SERIALIZABLE_CLASSES, hasForks)
}

/**
 * Returns the state of bytes.
 *
 * @throws Error if another build wrote them
 */
export function decodeState(bytes: Uint8Array): unknown {
  return decodeGraph(bytes, SERIALIZABLE_CLASSES)
}
