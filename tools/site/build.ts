/** `npm run docs`: builds the pages of docs to tools/site/dist: static files that work at any address, without a network. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'vitepress'
import { collectPages, ROOT } from './pages.ts'
import { relocatePages } from './relocate.ts'

const SITE = join(ROOT, 'tools/site')
const SOURCES = join(SITE, '.sources')
const OUTPUT = join(SITE, 'dist')

rmSync(SOURCES, { recursive: true, force: true })
rmSync(OUTPUT, { recursive: true, force: true })
const { pages, images } = collectPages()
for (const [path, text] of pages) write(path, text)
for (const path of images) {
  mkdirSync(dirname(join(SOURCES, path)), { recursive: true })
  cpSync(join(ROOT, path), join(SOURCES, path))
}
cpSync(join(SITE, 'playground.md'), join(SOURCES, 'playground.md'))
const errors = await collectErrors(() => build(SITE))
if (errors.length > 0) {
  throw new Error(
    `Failed to build the site: ${errors.length} errors while its pages were rendered:\n${errors.join('\n')}`,
  )
}
relocatePages(OUTPUT)
// A script without types, which also builds the package.
const { buildPlayground } = await import(pathToFileURL(join(ROOT, 'tools/build/pages.js')).href)
await buildPlayground(join(OUTPUT, 'playground'))
console.log(`wrote ${pages.size + 1} pages to tools/site/dist`)

function write(path: string, text: string): void {
  const file = join(SOURCES, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Returns the errors that are printed during a step. Vue prints the error of a page, and goes on without its text. */
async function collectErrors(step: () => Promise<unknown>): Promise<string[]> {
  const errors: string[] = []
  const print = console.error
  console.error = (...args) => errors.push(args.map(one => (one instanceof Error ? one.stack : String(one))).join(' '))
  try {
    await step()
    return errors
  } finally {
    console.error = print
  }
}
