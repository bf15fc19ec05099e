// The licences of the packages whose code is in the bundles. Most licences require that each copy has their text.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const bundled = new Set()

/** A plugin of esbuild: remembers the packages of a build for `writeNotices`. */
export const rememberPackages = {
  name: 'remember packages',
  setup: build => {
    build.initialOptions.metafile = true
    build.onEnd(({ metafile }) => {
      rememberPackagesOf(Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs)))
    })
  },
}

/** Remembers the packages of files that are in a bundle. */
export function rememberPackagesOf(paths) {
  for (const path of paths) {
    const folder = /^(?:[^/]*:)?(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
    if (folder !== undefined) bundled.add(folder)
  }
}

/**
 * Writes name, version and licence of each package that a build of this process has bundled.
 *
 * @throws if a package has no file with its licence
 */
export function writeNotices(file) {
  const notices = Array.from(bundled, folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const files = readdirSync(folder).filter(name => /^(?:licen[cs]e|notice|copying)/i.test(name))
    if (files.length === 0) throw new Error(`Failed to write the licences: ${folder} has no file with its licence.`)
    const texts = files.sort().map(name => readFileSync(join(folder, name), 'utf8').trim())
    return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`
  })
  const head = 'This package contains code of the following packages.\n'
  writeFileSync(file, [head, ...new Set(notices.sort())].join(`\n${'-'.repeat(80)}\n\n`))
}
