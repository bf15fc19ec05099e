/** Patterns of paths, compared with the paths that an operation can have. */

/** One piece of a path. */
interface Piece {
  /** Undefined: any character. */
  readonly char?: string
  /** Whether any character includes the slash. */
  readonly slashes?: boolean
  /** Whether it is any number of characters, also none. */
  readonly repeats?: boolean
}

/**
 * Returns whether some path of a route fits a pattern, in which `*` is any text.
 *
 * @param routePath path of an operation, as in `/deploy/{deploy_id}`
 * @example canHavePath('/deploy/{deploy_id}', '/deploy/dep_*') // true
 * @example canHavePath('/deploy/{deploy_id}', '/models/*') // false
 */
export function canHavePath(routePath: string, pattern: string): boolean {
  const route = toPieces(routePath)
  // From the ends: whether the pattern from its place `row` and the route from its place `at` have a text in common.
  let below: boolean[] = []
  for (let row = pattern.length; row >= 0; row--) {
    const wanted = toPiece(pattern[row])
    const current: boolean[] = []
    for (let at = route.length; at >= 0; at--) {
      const possible = route[at]
      current[at] =
        (wanted === undefined && possible === undefined) ||
        (wanted?.repeats === true && below[at] === true) ||
        (possible?.repeats === true && current[at + 1] === true) ||
        (haveCommonCharacter(wanted, possible) &&
          (wanted!.repeats ? current : below)[possible!.repeats ? at : at + 1] === true)
    }
    below = current
  }
  return below[0]!
}

function haveCommonCharacter(one: Piece | undefined, other: Piece | undefined): boolean {
  if (one === undefined || other === undefined) return false
  if (one.char !== undefined && other.char !== undefined) return one.char === other.char
  const { char } = one.char === undefined ? other : one
  if (char === '?') return false
  return char !== '/' || (one.slashes === true && other.char === '/') || (other.slashes === true && one.char === '/')
}

function toPiece(char: string | undefined): Piece | undefined {
  return char === '*' ? { slashes: true, repeats: true } : char === undefined ? undefined : { char }
}

/** The name of a model can have a slash, and no other parameter can. */
function toPieces(routePath: string): Piece[] {
  return routePath.split(/(\{\w+\})/).flatMap((part): Piece[] => {
    if (!part.startsWith('{')) return Array.from(part, char => ({ char }))
    const slashes = part === '{model_name}'
    return [{ slashes }, { slashes, repeats: true }]
  })
}
