/** Why a run of scenarios cannot begin. */

/** The flags that select scenarios and say how they are played. */
interface RunFlags {
  readonly filter?: string | undefined
  readonly tag?: readonly string[] | undefined
  readonly seed?: string | undefined
  readonly seeds?: readonly string[] | undefined
  readonly update?: boolean | undefined
}

/** Returns which flags exclude each other, with advice; undefined if none do. */
export function findFlagConflict({ update, seed, seeds }: RunFlags): string | undefined {
  if (seed !== undefined && seeds !== undefined) {
    return '--seed and --seeds exclude each other. Give one of them.'
  }
  if (update && (seed !== undefined || seeds !== undefined)) {
    const flag = seed === undefined ? '--seeds' : '--seed'
    return `--update writes traces of the scenarios' own seeds, and excludes ${flag}. Give one of them.`
  }
  return undefined
}

/** Explains that no scenario is selected. */
export function describeNoMatch({ filter, tag = [] }: RunFlags): string {
  if (tag.length === 0) return `no title, file name or tag contains '${filter ?? ''}'. Try a shorter word.`
  const also = filter === undefined ? '' : ` and matches '${filter}'`
  return `no scenario is tagged ${tag.map(one => `'${one}'`).join(' or ')}${also}. 'modelhost-sim run --list' lists the tags.`
}
