/**
 * Returns the candidate that is most similar to a mistyped word, for "Did you mean …?" in errors. Undefined: none is
 * near.
 *
 * Near is an edit distance (insert, delete, replace, swap of neighbours; case ignored) of up to a third of the word, at
 * least 1 and at most 3. A word of three letters or more also matches if it is the start of only one candidate. This
 * match has precedence over a distance of 2 or more.
 *
 * @example nearestWord('deplyoments', ['deployments', 'models']) // 'deployments'
 * @example nearestWord('H100', ['A100-80GB', 'H100-80GB']) // 'H100-80GB'
 */
export function nearestWord(word: string, candidates: Iterable<string>): string | undefined {
  const lowerWord = word.toLowerCase()
  const maxDistance = lowerWord.length <= 3 ? 1 : Math.min(3, Math.max(2, Math.floor(lowerWord.length / 3)))
  const prefixMatches: string[] = []
  let best: string | undefined
  let bestDistance = maxDistance + 1
  for (const candidate of candidates) {
    const lowerCandidate = candidate.toLowerCase()
    if (lowerWord.length >= 3 && lowerCandidate.startsWith(lowerWord)) prefixMatches.push(candidate)
    if (Math.abs(lowerCandidate.length - lowerWord.length) >= bestDistance) continue
    const distance = editDistance(lowerWord, lowerCandidate)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  const onlyPrefixMatch = prefixMatches.length === 1 ? prefixMatches[0] : undefined
  return bestDistance > 1 ? (onlyPrefixMatch ?? best) : best
}

/**
 * Returns the advice about an unknown word: `Did you mean 'x'?` with the nearest candidate, or the fallback if none is
 * near. A word without its group suggests each candidate that ends with it after a dot.
 *
 * @example formatSuggestion('modles', ['models'], 'Names are models.') // "Did you mean 'models'?"
 * @example formatSuggestion('up', ['hub.up', 'zone.up'], 'Names are hub.up, zone.up.') // "Did you mean 'hub.up' or 'zone.up'?"
 */
export function formatSuggestion(word: string, candidates: Iterable<string>, fallback: string): string {
  const known = [...candidates]
  const suffix = `.${word.toLowerCase()}`
  const inGroups = known.filter(candidate => candidate.toLowerCase().endsWith(suffix))
  if (inGroups.length > 0) {
    const quoted = inGroups.map(candidate => `'${candidate}'`)
    const last = quoted.pop()
    return `Did you mean ${quoted.length > 0 ? `${quoted.join(', ')} or ${last}` : last}?`
  }
  const nearest = nearestWord(word, known)
  return nearest === undefined ? fallback : `Did you mean '${nearest}'?`
}

/** Returns the distance of two words (optimal string alignment). A swap needs two earlier rows, so three are enough. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      let cost = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1))
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, beforeLast[column - 2]! + 1)
      }
      current.push(cost)
    }
    beforeLast = last
    last = current
  }
  return last[to.length]!
}

/** Returns the text of a problem with a value that names an unknown thing, with the nearest known one. */
export function describeUnknown(expected: string, got: string, known: Iterable<string>): string {
  return `expected ${expected}, got '${got}'.${formatHint(got, known)} Fix that value.`
}

/** Returns the question with the nearest candidate, to follow a sentence; '' if none is near. */
export function formatHint(word: string, candidates: Iterable<string>): string {
  const nearest = nearestWord(word, candidates)
  return nearest === undefined ? '' : ` Did you mean '${nearest}'?`
}
