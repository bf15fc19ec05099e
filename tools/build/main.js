// `npm run build`: bundles the entries of the library and the command line with esbuild, because Node takes longer to find
// three hundred modules than to run them. It also writes the types, and the bundled worlds in their checked form.
// `--outdir DIR`: another folder than dist. `--no-types`: leaves the types out, which take most of the time.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { bundledWorlds, writeBundledWorlds } from './browser-worlds.js'
import { bundlePage } from './bundle-page.js'
import { deferredImports } from './defer-modules.js'
import { joinChunks } from './join-chunks.js'
import { writeSavedPageParts } from './pages.js'

const { values } = parseArgs({
  options: { outdir: { type: 'string', default: 'dist' }, 'no-types': { type: 'boolean', default: false } },
})
const { outdir } = values

rmSync(outdir, { recursive: true, force: true })
if (!values['no-types']) {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  run([tsc, '-p', 'tsconfig.build.json', '--outDir', `${outdir}/types`])
}

const common = {
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
}
const entries = {
  index: 'src/index.ts',
  client: 'src/server/control/client/index.ts',
  explore: 'src/workbench/explore/index.ts',
  matchers: 'src/workbench/testing/matchers.ts',
  msw: 'src/workbench/testing/msw.ts',
  scenario: 'src/workbench/scenario/index.ts',
  vitest: 'src/workbench/testing/vitest.ts',
}
/** Packages that are large and rarely needed, or the user's own copy: loaded from node_modules on demand. */
const external = [
  '@modelcontextprotocol/sdk',
  '@msw/data',
  'gpt-tokenizer',
  '@faker-js/faker',
  'tsx',
  'esbuild',
  'msw',
  'vitest',
]
/** Dependencies in CommonJS load Node's modules with `require`. This one loads nothing itself, unlike `node:module`. */
const banner = { js: 'const require = process.getBuiltinModule' }

const { metafile: libraryFiles } = await build({
  ...common,
  metafile: true,
  entryPoints: entries,
  outdir,
  chunkNames: 'library-[name]-[hash]',
  platform: 'node',
  conditions: ['modelhost-sim-source'],
  external,
  banner,
  plugins: [deferredImports],
})

await joinChunks({ metafile: libraryFiles, outdir, entry: 'index.js', name: 'library.js' })

// A browser has no files: it has the profiles in its bundle and the worlds beside it, and loads dependencies by its own
// bundler.
const { client, explore, scenario, vitest, ...inBrowsers } = entries
await build({
  ...common,
  entryPoints: inBrowsers,
  outdir: `${outdir}/browser`,
  chunkNames: 'library-[hash]',
  platform: 'browser',
  packages: 'external',
  conditions: ['modelhost-sim-source'],
  plugins: [bundledWorlds],
})
writeBundledWorlds(`${outdir}/browser`)
await writeSavedPageParts(`${outdir}/pages`)

const { metafile: cliFiles } = await build({
  ...common,
  metafile: true,
  entryPoints: { cli: 'src/cli/index.ts' },
  outdir,
  chunkNames: 'cli-[name]-[hash]',
  platform: 'node',
  conditions: ['modelhost-sim-source'],
  external,
  banner,
  plugins: [
    deferredImports,
    {
      // What lays out the help makes an Intl.Segmenter when it is loaded, which takes 10 ms, and few starts show any.
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
    },
  ],
})

// Most starts serve. Other commands read the same file, of which they need a part.
await joinChunks({
  metafile: cliFiles,
  outdir,
  entry: Object.keys(cliFiles.outputs)
    .map(path => basename(path))
    .find(name => name.startsWith('cli-serve-')),
  apart: 'cli.js',
  name: 'cli-server.js',
})

mkdirSync(`${outdir}/ui`)
for (const [name, text] of Object.entries(await bundlePage())) writeFileSync(`${outdir}/ui/${name}`, text)

run(['--conditions=modelhost-sim-source', '--import', 'tsx', 'tools/scaffold/checked-files.ts', outdir])

function run(args) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
