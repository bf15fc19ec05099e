/**
 * Fixtures and profiles on disk. The only file of the store that knows of a file system: a browser build gets
 * `fixture-files.browser.ts` in its place.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nearestWord } from '../kernel/nearest.ts'

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
  const folder = isBareName(source) ? findFixtureFolder(source) : resolve(source)
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
      const relativePath = relative(folder, file)
      if (
        relativePath === '' ||
        relativePath === '..' ||
        relativePath.startsWith(`..${sep}`) ||
        isAbsolute(relativePath)
      )
        return undefined
      return existsSync(file) && statSync(file).isFile() ? readFileSync(file, 'utf8') : undefined
    },
  }
}

/** Contents lie in folders below, so a look at the top alone would miss an edit. */
function stampOf(folder: string, path = ''): string {
  let stamp = ''
  // By ourselves, for every world that is made asks: `recursive` takes several times as long.
  for (const name of readdirSync(join(folder, path)).sort()) {
    const relativePath = path === '' ? name : `${path}/${name}`
    const entry = statSync(`${folder}/${relativePath}`)
    stamp += entry.isDirectory()
      ? `${relativePath}/|${stampOf(folder, relativePath)}`
      : `${relativePath}:${entry.size}:${entry.mtimeMs}|`
  }
  return stamp
}

function isBareName(source: string): boolean {
  return /^[A-Za-z0-9][\w-]*$/.test(source)
}

function findFixtureFolder(name: string): string {
  const bundledFolder = findPackageFolder('fixtures')
  if (bundledFolder !== undefined && isFolder(join(bundledFolder, name))) return join(bundledFolder, name)
  if (isFolder(resolve(name))) return resolve(name)
  const known =
    bundledFolder === undefined ? [] : readdirSync(bundledFolder).filter(entry => isFolder(join(bundledFolder, entry)))
  const suggestion = nearestWord(name, known)
  throw new Error(
    `Failed to read fixture '${name}': there is no fixture of that name.${suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`} ` +
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
 * @param extendedBy The profile that extends it: a path is relative to its folder.
 */
export function openProfile(source: string, extendedBy?: ProfileFile): ProfileFile | { problem: string } {
  const bundledFolder = findPackageFolder('profiles')
  const known = (bundledFolder === undefined ? [] : readdirSync(bundledFolder))
    .filter(entry => entry.endsWith('.json'))
    .map(entry => basename(entry, '.json'))
    .sort()
  const isBundled = bundledFolder !== undefined && known.includes(source)
  const path = isBundled
    ? join(bundledFolder, `${source}.json`)
    : resolve(extendedBy === undefined ? '.' : dirname(extendedBy.path), source)
  const entry = statSync(path, { throwIfNoEntry: false })
  if (entry?.isFile()) {
    return {
      path,
      label: isBundled ? `${source}.json` : source,
      name: basename(path, '.json'),
      stamp: `${entry.size}:${entry.mtimeMs}`,
      read: () => readFileSync(path, 'utf8'),
    }
  }
  const names = known.length > 0 ? `one of ${known.map(each => `'${each}'`).join(', ')}, or ` : ''
  const advice = `Give ${names}the path of a JSON file.`
  if (!isBareName(source)) {
    const what = entry === undefined ? 'there is no such file' : 'that is no file'
    return { problem: `expected a profile, got '${source}': ${what}. ${advice}` }
  }
  const suggestion = nearestWord(source, known)
  const hint = suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`
  return { problem: `expected a profile, got '${source}': there is none of that name.${hint} ${advice}` }
}

/** The text of a file with a names profile. */
export function openNames(path: string): { text: string } | { problem: string } {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return { text: readFileSync(path, 'utf8') }
  return { problem: 'there is no such file. Give the path of a JSON file, or the names themselves as an object.' }
}

/** A folder beside the nearest package.json above: two levels up from the source, one or two from the bundle. */
function findPackageFolder(name: string): string | undefined {
  const cached = packageFolders.get(name)
  if (cached !== undefined) return cached
  const found = searchPackageFolder(name)
  if (found !== undefined) packageFolders.set(name, found)
  return found
}

/** Where the package keeps its folders: it does not move while the process lives. */
const packageFolders = new Map<string, string>()

function searchPackageFolder(name: string): string | undefined {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    if (existsSync(join(folder, 'package.json')) && isFolder(join(folder, name))) return join(folder, name)
    const parent = dirname(folder)
    if (parent === folder) return undefined
    folder = parent
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
