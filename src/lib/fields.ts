/** Returns the fields that are not undefined: optional fields of a type do not take undefined. */
export function given<Fields extends object>(fields: Fields) {
  type Given = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given
}

/** Returns fields of these names, all with one value. */
export function fieldsOf<Value, Name extends string>(value: Value, ...names: readonly Name[]): Record<Name, Value> {
  return Object.fromEntries(names.map(name => [name, value])) as Record<Name, Value>
}

/** Freezes a record and everything in it, so that it can be shared between worlds. Returns the same object. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}

/** A text. Editors complete the known names, and every other text is accepted too. */
export type OpenName<Known extends string> = Known | (string & Record<never, never>)
