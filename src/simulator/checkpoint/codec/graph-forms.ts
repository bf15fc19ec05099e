/** Forms of the objects of a graph, for its writer and its reader. */

/** The declared fields of a class: the layout of its rows. */
export interface DeclaredFields {
  readonly names: readonly string[]
  /** Returns the values of the fields in the order of `names`. */
  valuesOf(thing: object): readonly unknown[]
  /** Whether the object of a field belongs to one object, so that no other refers to it. */
  isOwned(index: number): boolean
  /** Throws if a value does not fit its field. */
  assertFits(index: number, value: unknown): void
  /** Creates an object that no table owns. */
  restore(fields: object): object
}

/** How objects of a class are written: by declared fields, by parts, or by default by their own fields. */
export interface SerializableClass<T extends object = object> {
  // Only the prototype is used, so the parameters do not matter.
  readonly of: abstract new (
    ...parameters: never[]
  ) => T
  readonly declared?: DeclaredFields
  readonly take?: (thing: T) => readonly unknown[]
  readonly make?: (parts: readonly unknown[]) => T
}

/** Classes of the objects of a graph, by the names under which they are written. */
export type SerializableClasses = Readonly<Record<string, SerializableClass>>

export type FormKind = 'fields' | 'parts' | 'list' | 'map' | 'set' | 'bytes' | 'date' | 'bigint'

/** The part of a form that is written before its objects. */
export interface FormHeader {
  readonly sort: FormKind
  /** Name of the class; `''` for a plain object; type of the first item for lists, sets and maps, whose columns then have one type. */
  readonly name: string
  readonly keys: readonly string[]
  /** Number of objects. */
  readonly count: number
  /** Number of columns. */
  readonly columns: number
}

export const TYPED_ARRAYS = {
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
} as const
