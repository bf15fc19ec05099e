/** `npm run docs`: builds the pages of docs to tools/site/dist: static files that work at any address, without a network. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'vitepress'
import { collectPages, ROOT } from './pages.ts'
import { relocatePages } from './relocate.ts'

const SITE = join(ROOT, 'tools/site')
const SOURCES = join(SITE, '.sources')
const OUTPUT = join(SITE, 'dist')
/** The place of a picture of a view of the control room in a page, with its description. */
const PICTURE = /<!-- picture (\w+): (.*) -->/g
const PICTURES = 'docs/figures/control-room'
const pictureOf = (view: string) => `${view}-wide-light.webp`

rmSync(SOURCES, { recursive: true, force: true })
rmSync(OUTPUT, { recursive: true, force: true })
const { pages, images } = collectPages()
const views = [...pages.values()].flatMap(text => [...text.matchAll(PICTURE)].map(([, view]) => view!))
const hasPictures = takePictures(views)
for (const [path, text] of pages) {
  write(
    path,
    hasPictures
      ? text.replaceAll(PICTURE, (_, view, alt) => `![${alt}](figures/control-room/${pictureOf(view)})`)
      : text,
  )
}
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

/** Takes pictures of views of the control room. Returns false without Chromium. */
function takePictures(views: readonly string[]): boolean {
  if (!existsSync(process.env.CHROME_PATH ?? '/usr/bin/chromium')) {
    console.log('The site has no pictures of the control room: Chromium is missing. CHROME_PATH names it.')
    return false
  }
  const args = ['--conditions=modelhost-sim-source', '--import', 'tsx', 'tools/scaffold/screenshots.ts']
  const flags = views.flatMap(view => ['--view', view])
  execFileSync(process.execPath, [...args, ...flags, '--out', join(SOURCES, PICTURES)], { cwd: ROOT, stdio: 'inherit' })
  return true
}

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
