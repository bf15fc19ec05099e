/** Returns the words of a list with commas, without the space around them. An empty word stays: some fields can be empty. */
export function splitCommas(text: string | undefined): string[] | undefined {
  return text?.split(',').map(word => word.trim())
}
