/** The licences of other packages, whose code is in the bundles of this one. */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { installed, packageIn } from './installed-package.ts'

const { FOR_NODE } = await import(resolve('tools/build/command-line.js'))

test('each package in the metafile of the build is in the notices, with its version and the text of its licence', async () => {
  const entryPoints = { cli: 'src/cli/index.ts', page: 'src/server/page/served-page.tsx' }
  const { metafile } = await build({ ...FOR_NODE, entryPoints, outdir: 'unused', write: false })
  const folders = Object.keys(metafile!.inputs).flatMap(
    path => /[^:]*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? [],
  )
  expect(folders).toEqual(expect.arrayContaining(['node_modules/hono', 'node_modules/preact']))
  const notices = readFileSync(join(packageIn(installed()), 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8').split(
    /^-{80}\n\n/m,
  )
  for (const folder of [...new Set(folders), 'node_modules/gpt-tokenizer']) {
    const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const notice = notices.find(text => text.startsWith(`${name} ${version} (`))
    expect([folder, notice]).toEqual([folder, expect.stringMatching(/permission|redistribut|apache license/i)])
  }
})
