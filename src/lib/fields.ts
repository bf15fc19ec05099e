/** Returns the fields that are not undefined: optional fields of a type do not take undefined. */
export function given<Fields extends object>(fields: Fields) {
  type Given = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given
}

/** Returns fields of these names, all with one value. */
export function fieldsOf<Value, Name extends string>(value: Value, ...names: readonly Name[]): Record<Name, Value> {
  return Object.fromEntries(names.map(name => [name, value])) as Record<Name, Value>
}
