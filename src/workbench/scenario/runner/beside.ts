import { resolve } from 'node:path'

/** Resolves `./…` and `../…` of a scenario relative to its script. */
export function resolveRelative<Source>(source: Source, home: string): Source | string {
  return typeof source === 'string' && /^\.\.?[\\/]/.test(source) ? resolve(home, source) : source
}
