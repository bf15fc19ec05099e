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
