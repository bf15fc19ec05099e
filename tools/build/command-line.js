// The bundle of the command line, for the package and for a start from the source.
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { deferredImports } from './defer-modules.js'
import { joinChunks } from './join-chunks.js'
import { rememberPackages } from './notices.js'

export const COMMON = {
  bundle: true,
  // The entries share their chunks, and so their classes. Code that few calls need stays in a chunk of its own.
  splitting: true,
  format: 'esm',
  target: 'node20.19',
  // Engines read less. Names stay, for stack traces.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
  conditions: ['modelhost-sim-source'],
}

/** The user's own copies, and tsx, which changes how Node loads modules: loaded from node_modules on demand. */
const EXTERNAL = ['@modelcontextprotocol/sdk', 'tsx', 'msw', 'vitest']
/** Dependencies in CommonJS load Node's modules with `require`. This one loads nothing itself, unlike `node:module`. */
const BANNER = { js: 'const require = process.getBuiltinModule' }

export const FOR_NODE = {
  ...COMMON,
  metafile: true,
  platform: 'node',
  external: EXTERNAL,
  banner: BANNER,
  plugins: [deferredImports, rememberPackages],
}

/** What lays out the help makes an Intl.Segmenter when it is loaded, which takes 10 ms, and few starts show any. */
const helpOnDemand = {
  name: 'help on demand',
  setup: build => {
    build.onResolve({ filter: /^(cliui|string-width)$/ }, ({ path, importer, resolveDir }) =>
      /[\\/]platform-shims[\\/]esm\.mjs$/.test(importer)
        ? { path, namespace: 'on demand', pluginData: resolveDir }
        : undefined,
    )
    build.onLoad({ filter: /./, namespace: 'on demand' }, ({ path, pluginData }) => ({
      contents: `export default (...args) => require('${path}').default(...args)`,
      resolveDir: pluginData,
    }))
  },
}

/**
 * Writes the command line into a folder. Its entry is `cli.js`.
 *
 * @param plugins further plugins of esbuild
 * @param define further constants
 */
export async function buildCommandLine(outdir, { plugins = [], define = {} } = {}) {
  const { metafile } = await build({
    ...FOR_NODE,
    entryPoints: { cli: fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url)) },
    outdir,
    chunkNames: 'cli-[name]-[hash]',
    plugins: [...FOR_NODE.plugins, helpOnDemand, ...plugins],
    define,
  })
  // Most starts serve. Other commands read the same file, of which they need a part.
  await joinChunks({
    metafile,
    outdir,
    entry: Object.keys(metafile.outputs)
      .map(path => basename(path))
      .find(name => name.startsWith('cli-serve-')),
    apart: 'cli.js',
    name: 'cli-server.js',
  })
}
