/** Returns a name in camel case as one in snake case: `maxStorageBytes` is `max_storage_bytes`. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
