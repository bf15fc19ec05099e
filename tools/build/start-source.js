// Starts the command line of a clone, for bin/modelhost-sim.js. esbuild bundles the source, and later starts use this
// bundle until a file of the source changes.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Bundles, each in a folder that has the digest of its source as its name. As deep as the folders of src/server. */
const BUNDLES = join(ROOT, '.tmp/start')
/** Bundles that stay, because a server that still runs may load a chunk. */
const KEPT_BUNDLES = 5

/** Registers tsx for scripts. Their imports of this package find its source. */
export async function register() {
  const tsx = await import('tsx/esm/api')
  // tsx otherwise reads the tsconfig.json of the current folder, and class fields compile in another way without ours.
  tsx.register({ tsconfig: join(ROOT, 'tsconfig.json') })
  // Has the effect of `node --conditions=modelhost-sim-source` without a second process.
  const withCondition = context => ({ ...context, conditions: [...context.conditions, 'modelhost-sim-source'] })
  const resolve = (specifier, context, next) => next(specifier, withCondition(context))
  // Missing in Node 20. Node 26 warns of `register`.
  if (nodeModule.registerHooks) nodeModule.registerHooks({ resolve })
  else {
    const hook = `const withCondition = ${withCondition}; export const resolve = ${resolve}`
    nodeModule.register(`data:text/javascript,${encodeURIComponent(hook)}`)
  }
}

/** Returns the URL of the command line, bundled from the source as it is now. */
export async function bundledSource() {
  const folder = join(BUNDLES, digestOfSource())
  if (!existsSync(folder)) await writeBundle(folder)
  return pathToFileURL(join(folder, 'cli.js'))
}

async function writeBundle(folder) {
  const { buildCommandLine } = await import('./command-line.js')
  // Another process never sees a part of a bundle.
  const unfinished = `${folder}-${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    await buildCommandLine(unfinished, { plugins: [scriptLoader], define: { IS_CLONE: 'true' } })
    renameSync(unfinished, folder)
  } catch (error) {
    rmSync(unfinished, { recursive: true })
    // Another process was first.
    if (!existsSync(folder)) throw error
  }
  removeOldBundles()
}

/** Replaces tsx, which the command line loads with the first script, by this module. */
const scriptLoader = {
  name: 'loader of scripts',
  setup: build => build.onResolve({ filter: /^tsx\/esm\/api$/ }, () => ({ path: import.meta.url, external: true })),
}

function digestOfSource() {
  // The bundle names files by their whole paths, so a moved clone needs another one.
  const digest = createHash('sha256').update(ROOT)
  for (const folder of ['src', 'tools/build']) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true }).sort()) {
      if (/\.(ts|tsx|js)$/.test(name)) digest.update(name).update(readFileSync(join(ROOT, folder, name)))
    }
  }
  for (const name of ['package-lock.json', 'tsconfig.json']) digest.update(readFileSync(join(ROOT, name)))
  return digest.digest('hex').slice(0, 16)
}

function removeOldBundles() {
  const folders = readdirSync(BUNDLES).map(name => join(BUNDLES, name))
  const newestFirst = folders.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
  for (const folder of newestFirst.slice(KEPT_BUNDLES)) rmSync(folder, { recursive: true, force: true })
}
