// `npm run build`: bundles the entries of the library and the command line with esbuild, because Node takes longer to find
// three hundred modules than to run them. It also writes the types, and the bundled worlds in their checked form.
// `--outdir DIR`: another folder than dist. `--no-types`: leaves the types out, which take most of the time.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { bundledWorlds, withoutPackages, writeBundledWorlds } from './browser-worlds.js'
import { bundlePage } from './bundle-page.js'
import { buildCommandLine, COMMON, FOR_NODE } from './command-line.js'
import { ENTRIES } from './entries.js'
import { joinChunks } from './join-chunks.js'
import { rememberPackages, writeNotices } from './notices.js'
import { writeSavedPageParts } from './pages.js'
import { packRanks } from './token-ranks.js'

const { values } = parseArgs({
  options: { outdir: { type: 'string', default: 'dist' }, 'no-types': { type: 'boolean', default: false } },
})
const { outdir } = values

rmSync(outdir, { recursive: true, force: true })
if (!values['no-types']) {
  const { writeTypes } = await import('./bundle-types.js')
  await writeTypes(`${outdir}/types`)
}

const { metafile: libraryFiles } = await build({
  ...FOR_NODE,
  entryPoints: ENTRIES,
  outdir,
  chunkNames: 'library-[name]-[hash]',
})

await joinChunks({ metafile: libraryFiles, outdir, entry: 'index.js', name: 'library.js' })

// A browser has no files: it has the profiles in its bundle and the worlds beside it. The tokenizer is beside it too, and
// package.json says which one a bundler takes. MSW is the user's own copy.
const { client, explore, scenario, vitest, ...inBrowsers } = ENTRIES
await build({
  ...COMMON,
  entryPoints: {
    ...inBrowsers,
    tokenizer: 'gpt-tokenizer/encoding/o200k_base',
    'without-tokenizer': 'src/server/saved-page/tokenizer-apart.ts',
  },
  outdir: `${outdir}/browser`,
  chunkNames: 'library-[name]-[hash]',
  platform: 'browser',
  external: ['#tokenizer', 'msw'],
  plugins: [bundledWorlds, withoutPackages('@fastify/busboy'), rememberPackages],
})
writeBundledWorlds(`${outdir}/browser`)
await writeSavedPageParts(`${outdir}/pages`)

await buildCommandLine(outdir)
writeFileSync(`${outdir}/token-ranks.gz`, gzipSync(packRanks(), { level: 9 }))

mkdirSync(`${outdir}/ui`)
for (const [name, text] of Object.entries(await bundlePage())) writeFileSync(`${outdir}/ui/${name}`, text)
writeNotices(`${outdir}/THIRD-PARTY-NOTICES.txt`)

run(['--conditions=modelhost-sim-source', '--import', 'tsx', 'tools/scaffold/checked-files.ts', outdir])

function run(args) {
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
