/**
 * Fixtures and profiles on disk. The only file of the store that knows of a file system: a browser build gets
 * `fixture-files.browser.ts` in its place.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nearest } from '../kernel/nearest.ts'

/** A fixture's folder, found and not yet read. */
export interface FixtureFiles {
  /** The resolved folder: two spellings of one folder have the same. */
  folder: string
  /** Changes when a file of the folder does, so that an edited fixture is read anew. */
  stamp: string
  /** Names of the files and folders that lie directly in it. */
  names: readonly string[]
  /** The text of a file by its path below the folder; undefined when there is none, or when it lies outside. */
  read(path: string): string | undefined
}

/**
 * Finds a fixture by the name of one that comes with the package, or by a folder's path.
 *
 * @throws Error when there is no such name or folder
 */
export function openFixture(source: string): FixtureFiles {
  const folder = isName(source) ? namedFolder(source) : resolve(source)
  if (!isFolder(folder)) {
    throw new Error(
      `Failed to read fixture '${source}': there is no such folder. Give the path of a folder that holds account.json.`,
    )
  }
  const names = readdirSync(folder).sort()
  return {
    folder,
    stamp: names.includes('account.json') ? stampOf(folder) : '',
    names,
    read(path) {
      const file = resolve(folder, path)
      const below = relative(folder, file)
      if (below === '' || below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) return undefined
      return existsSync(file) && statSync(file).isFile() ? readFileSync(file, 'utf8') : undefined
    },
  }
}

/** Contents lie in folders below, so a look at the top alone would miss an edit. */
function stampOf(folder: string, path = ''): string {
  let stamp = ''
  // By ourselves, for every world that is made asks: `recursive` takes several times as long.
  for (const name of readdirSync(join(folder, path)).sort()) {
    const below = path === '' ? name : `${path}/${name}`
    const entry = statSync(`${folder}/${below}`)
    stamp += entry.isDirectory() ? `${below}/|${stampOf(folder, below)}` : `${below}:${entry.size}:${entry.mtimeMs}|`
  }
  return stamp
}

function isName(source: string): boolean {
  return /^[A-Za-z0-9][\w-]*$/.test(source)
}

function namedFolder(name: string): string {
  const home = homeOf('fixtures')
  if (home !== undefined && isFolder(join(home, name))) return join(home, name)
  if (isFolder(resolve(name))) return resolve(name)
  const known = home === undefined ? [] : readdirSync(home).filter(entry => isFolder(join(home, entry)))
  const meant = nearest(name, known)
  throw new Error(
    `Failed to read fixture '${name}': there is no fixture of that name.${meant === undefined ? '' : ` Did you mean '${meant}'?`} ` +
      `Give ${known.length > 0 ? `one of ${known.map(each => `'${each}'`).join(', ')}, or ` : ''}the path of a folder.`,
  )
}

/** A profile's file, found and not yet read. */
export interface ProfileFile {
  /** The resolved path: two spellings of one file have the same. */
  path: string
  /** How errors call it: as the user wrote it, or `realistic.json` for one that comes with the package. */
  label: string
  /** The file's own name without `.json`. */
  name: string
  /** Changes when the file does. */
  stamp: string
  read(): string
}

/**
 * Finds a profile by the name of one that comes with the package, or by a file's path.
 *
 * @param below The profile that extends it: a path is relative to its folder.
 */
export function openProfile(source: string, below?: ProfileFile): ProfileFile | { problem: string } {
  const home = homeOf('profiles')
  const known = (home === undefined ? [] : readdirSync(home))
    .filter(entry => entry.endsWith('.json'))
    .map(entry => basename(entry, '.json'))
    .sort()
  const named = home !== undefined && known.includes(source)
  const path = named ? join(home, `${source}.json`) : resolve(below === undefined ? '.' : dirname(below.path), source)
  const entry = statSync(path, { throwIfNoEntry: false })
  if (entry?.isFile()) {
    return {
      path,
      label: named ? `${source}.json` : source,
      name: basename(path, '.json'),
      stamp: `${entry.size}:${entry.mtimeMs}`,
      read: () => readFileSync(path, 'utf8'),
    }
  }
  const names = known.length > 0 ? `one of ${known.map(each => `'${each}'`).join(', ')}, or ` : ''
  const advice = `Give ${names}the path of a JSON file.`
  if (!isName(source)) {
    const what = entry === undefined ? 'there is no such file' : 'that is no file'
    return { problem: `expected a profile, got '${source}': ${what}. ${advice}` }
  }
  const meant = nearest(source, known)
  const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`
  return { problem: `expected a profile, got '${source}': there is none of that name.${hint} ${advice}` }
}

/** The text of a file with a names profile. */
export function openNames(path: string): { text: string } | { problem: string } {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return { text: readFileSync(path, 'utf8') }
  return { problem: 'there is no such file. Give the path of a JSON file, or the names themselves as an object.' }
}

/** A folder beside the nearest package.json above: two levels up from the source, one or two from the bundle. */
function homeOf(name: string): string | undefined {
  const known = homes.get(name)
  if (known !== undefined) return known
  const found = searchedHome(name)
  if (found !== undefined) homes.set(name, found)
  return found
}

/** Where the package keeps its folders: it does not move while the process lives. */
const homes = new Map<string, string>()

function searchedHome(name: string): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    if (existsSync(join(folder, 'package.json')) && isFolder(join(folder, name))) return join(folder, name)
    const above = dirname(folder)
    if (above === folder) return undefined
    folder = above
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
