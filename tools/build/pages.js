// The scripts that run a simulator inside a page: everything is in them, since a page has no node_modules.
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateSync } from 'node:zlib'
import { build } from 'esbuild'
import { containedWorlds, withoutPackages } from './browser-worlds.js'
import { rememberPackages } from './notices.js'

const source = path => fileURLToPath(new URL(`../../${path}`, import.meta.url))

const TOKENIZER = '#tokenizer'
/** The global symbol of `src/server/saved-page/parts.ts`. */
const TOKENIZER_KEY = 'modelhost-sim.tokenizer'

/** A page parses forms by the platform, and has no collections of @msw/data. */
const withoutUnreached = withoutPackages('@fastify/busboy', '@msw/data')

/** Takes the tokenizer from a script of its own. */
const tokenizerApart = {
  name: 'tokenizer apart',
  setup: build => {
    build.onResolve({ filter: new RegExp(`^${TOKENIZER}$`) }, () => ({
      path: source('src/server/saved-page/tokenizer-apart.ts'),
    }))
  },
}

const common = {
  bundle: true,
  target: ['chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  platform: 'browser',
  conditions: ['modelhost-sim-source'],
}

/**
 * Builds the playground, a folder of files for any web server: `index.html`, its script and style, the parts of saved
 * pages, and `simulator.js` alone for other pages. From the file system it works too, by one script with everything.
 *
 * @param outdir an empty folder
 */
export async function buildPlayground(outdir) {
  const folder = 'tools/site/playground'
  await build({
    ...common,
    entryPoints: [
      { in: source('src/server/saved-page/connect.ts'), out: 'simulator' },
      { in: source(`${folder}/main.ts`), out: 'playground' },
      { in: source(`${folder}/playground.css`), out: 'playground' },
    ],
    outdir,
    chunkNames: 'part-[name]-[hash]',
    format: 'esm',
    splitting: true,
    plugins: [containedWorlds, withoutUnreached],
  })
  await build({
    ...common,
    entryPoints: [
      { in: source(`${folder}/start.ts`), out: 'start' },
      { in: source(`${folder}/main.ts`), out: 'playground-from-files' },
    ],
    outdir,
    format: 'iife',
    plugins: [containedWorlds, withoutUnreached],
  })
  cpSync(source(`${folder}/index.html`), join(outdir, 'index.html'))
  await writeSavedPageParts(outdir)
}

/**
 * Writes the parts of saved pages: `saved-page.json`, and `tokenizer.json` for the pages that need it.
 *
 * @param outdir the folder, as in `dist/pages`
 */
export async function writeSavedPageParts(outdir) {
  const { tokenizer, ...parts } = await bundleSavedPage()
  mkdirSync(outdir, { recursive: true })
  writeFileSync(join(outdir, 'saved-page.json'), JSON.stringify(parts))
  writeFileSync(join(outdir, 'tokenizer.json'), JSON.stringify(tokenizer))
}

let savedPage

/**
 * Returns the parts of saved pages, as `src/server/saved-page/parts.ts` declares them. They are bundled once in a process.
 *
 * @returns {Promise<Required<import('../../src/server/saved-page/parts.ts').PageParts>>}
 */
export function bundleSavedPage() {
  savedPage ??= bundleParts()
  return savedPage
}

async function bundleParts() {
  const plugins = [containedWorlds, withoutUnreached, tokenizerApart]
  const [loader, style, code, tokenizer] = await Promise.all([
    bundleText({ entryPoints: [source('src/server/saved-page/loader.ts')] }),
    bundleText({ entryPoints: [source('src/server/saved-page/saved.css')] }),
    bundleText({ entryPoints: [source('src/server/saved-page/main.ts')], plugins }),
    bundleText({
      stdin: {
        contents: `import encoding from '${TOKENIZER}'; globalThis[Symbol.for('${TOKENIZER_KEY}')] = encoding`,
        resolveDir: source('.'),
      },
    }),
  ])
  // The page contains the loader and the style as they are.
  for (const text of [loader, style]) {
    if (/<\/(?:script|style)|<!--/i.test(text)) {
      throw new Error('Failed to bundle saved pages: a part of them ends its own element. Escape that text.')
    }
  }
  return {
    ...{ loader: toPlain(loader), style: toPlain(style) },
    ...{ code: toCompressed(code), tokenizer: toCompressed(tokenizer) },
  }
}

async function bundleText({ plugins = [], ...entry }) {
  const options = { ...common, ...entry, plugins: [...plugins, rememberPackages], format: 'iife' }
  const { outputFiles } = await build({ ...options, write: false, outdir: 'unused' })
  return outputFiles[0].text
}

function toPlain(text) {
  return { text, hash: sha256(text) }
}

function toCompressed(text) {
  return { compressed: deflateSync(text, { level: 9 }).toString('base64'), hash: sha256(text) }
}

function sha256(text) {
  return createHash('sha256').update(text).digest('base64')
}
