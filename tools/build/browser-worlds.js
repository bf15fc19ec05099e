// What browsers get in place of files and packages of Node: the worlds of the package are a module, and a text that
// several worlds have is in it once.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FIXTURES = fileURLToPath(new URL('../../fixtures/worlds', import.meta.url))

/** A plugin of esbuild: what imports `bundled-worlds.ts` imports `worlds.js` beside the bundle instead. */
export const bundledWorlds = {
  name: 'bundled worlds',
  setup: build => {
    build.onResolve({ filter: /[\\/]bundled-worlds\.ts$/ }, () => ({ path: './worlds.js', external: true }))
  },
}

/** A plugin of esbuild: puts the worlds into the bundle. */
export const containedWorlds = {
  name: 'contained worlds',
  setup: build => {
    build.onLoad({ filter: /[\\/]bundled-worlds\.ts$/ }, () => ({ contents: bundledWorldsModule(), loader: 'js' }))
  },
}

/** A plugin of esbuild: leaves packages out that a page never reaches. */
export const withoutPackages = (...packages) => ({
  name: 'without packages',
  setup: build => {
    build.onResolve({ filter: /^[@\w]/ }, ({ path }) =>
      packages.includes(path) ? { path, namespace: 'left out' } : undefined,
    )
    build.onLoad({ filter: /./, namespace: 'left out' }, ({ path }) => ({
      contents: `throw new Error(${JSON.stringify(`Failed to load ${path}: a page has no copy of it. Use Node.`)})`,
    }))
  },
})

/** Writes `worlds.js` to a folder, from the worlds of `fixtures`. */
export function writeBundledWorlds(folder) {
  writeFileSync(join(folder, 'worlds.js'), bundledWorldsModule())
}

function bundledWorldsModule() {
  const texts = new Map()
  const worlds = Object.fromEntries(
    readdirSync(FIXTURES).map(name => {
      const paths = readdirSync(join(FIXTURES, name), { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name))
        .sort()
      const files = paths.map(path => {
        const text = readFileSync(path, 'utf8')
        const content = path.endsWith('.json') ? JSON.stringify(JSON.parse(text)) : text
        if (!texts.has(content)) texts.set(content, texts.size)
        return `${JSON.stringify(path.slice(join(FIXTURES, name).length + 1).replaceAll('\\', '/'))}:t[${texts.get(content)}]`
      })
      return [name, `{${files.join(',')}}`]
    }),
  )
  const entries = Object.entries(worlds).map(([name, files]) => `${JSON.stringify(name)}:${files}`)
  // In single quotes, JSON needs few escapes.
  const quoted = [...texts.keys()].map(
    text =>
      `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`,
  )
  return `const t=[${quoted.join(',\n')}];\nexport const BUNDLED_WORLDS={${entries.join(',')}};\n`
}
