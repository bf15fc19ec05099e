/** The filter of the list of requests: words that must all occur. */
import type { ControlRequest } from '../../../control/client/index.ts'

/** What the filter means, for its help. */
export const FILTER_HELP = 'Words of method, path, operation, status or ids. 4xx is any such status. A minus excludes.'

/** Returns whether a request has every word of a filter. */
export function matchesFilter(request: ControlRequest, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const text = searchedText(request)
  return words.every(word => {
    const isExcluded = word.startsWith('-') && word.length > 1
    return hasWord(request, text, isExcluded ? word.slice(1) : word) !== isExcluded
  })
}

function hasWord({ status }: ControlRequest, text: string, word: string): boolean {
  return /^[1-5]xx$/.test(word) ? String(status)[0] === word[0] : text.includes(word)
}

function searchedText({ method, path, operation, status, decidedBy, reason = '', client, subjects }: ControlRequest) {
  return [method, path, operation, status, decidedBy, reason, client, ...subjects].join(' ').toLowerCase()
}

/** Returns what decided an answer, for the list. `none` is the request alone: as it should be, or with a mistake. */
export function decidedWords({ decidedBy, status }: ControlRequest): string {
  return decidedBy !== 'none' ? decidedBy : status >= 400 ? 'request' : ''
}
