/** Returns a function that calls another one at most once. */
export function once<Value>(read: () => Value): () => Value {
  let known: { readonly value: Value } | undefined
  return () => {
    known ??= { value: read() }
    return known.value
  }
}

/** Returns a function that calls another one at most once for each object. The result lives as long as the object. */
export function oncePer<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>()
  return key => {
    const result = known.get(key)
    if (result !== undefined) return result.value
    const value = compute(key)
    known.set(key, { value })
    return value
  }
}
