/** Returns a value of JSON as source text: short values in one line, keys without quotes, texts in single quotes. */
export function toSource(value: unknown, width: number, indent = ''): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const inner = `${indent}  `
  const parts = isList
    ? value.map(item => toSource(item, width, inner))
    : Object.entries(value).map(([key, item]) => `${toKey(key)}: ${toSource(item, width, inner)}`)
  const [open, close, space] = isList ? ['[', ']', ''] : ['{', '}', ' ']
  const line = `${open}${space}${parts.join(', ')}${space}${close}`
  if (parts.length === 0) return `${open}${close}`
  if (line.length + indent.length <= width && !line.includes('\n')) return line
  return `${open}\n${parts.map(part => `${inner}${part},\n`).join('')}${indent}${close}`
}

function toKey(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : toSource(key, 0)
}
