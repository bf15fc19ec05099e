/** Returns whether arrays and objects are nested deeper than `maxDepth`. It looks no deeper than that. */
export function isNestedDeeper(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (maxDepth === 0) return true
  if (Array.isArray(value)) return value.some(inner => isNestedDeeper(inner, maxDepth - 1))
  for (const name in value) if (isNestedDeeper((value as Record<string, unknown>)[name], maxDepth - 1)) return true
  return false
}
