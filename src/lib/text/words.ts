/** Returns a name in camel case as one in snake case: `maxStorageBytes` is `max_storage_bytes`. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

/** Returns the words of a list with commas, without the space around them. An empty word stays: some fields can be empty. */
export function splitCommas(text: string | undefined): string[] | undefined {
  return text?.split(',').map(word => word.trim())
}

/**
 * Breaks a text at its spaces into lines of at most `width` characters. A longer word has a line of its own.
 *
 * @param indent begins each line, and counts as a part of it
 */
export function wrapText(text: string, width: number, indent = ''): string[] {
  const lines: string[] = []
  for (const word of text.trim().split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + word)
  }
  return lines
}

/**
 * Writes the control characters of a text as in `\u001b`, because in a terminal they would act. Lines and tabs stay.
 *
 * @example escapeControls('a\u001b[31m') // 'a\\u001b[31m'
 */
export function escapeControls(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}/gu, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
