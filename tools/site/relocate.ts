/**
 * Makes the site work at any address. VitePress knows only addresses that are fixed when it builds, so it builds below a
 * placeholder. Here the placeholder becomes the way from a page to the root of the site, and in scripts the path at which
 * the page was opened.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { UserConfig } from 'vitepress'

/** A plugin of the Vite that VitePress has, which is another version than that of the tests. */
type Plugin = Extract<NonNullable<NonNullable<UserConfig['vite']>['plugins']>[number], { name: string }>

/** The placeholder for the path of the root of the site. */
export const BASE = '/__root_of_the_site__/'
/** What a script reads in its place. */
const ROOT_IN_SCRIPTS = 'globalThis.__SITE_ROOT__'

/** Replaces the placeholder in the scripts of the site, when they are complete. */
export const relocatedScripts = {
  name: 'relocated-scripts',
  enforce: 'post',
  // The scripts that render the pages keep the placeholder, which `relocatePages` replaces.
  apply: config => !config.build?.ssr,
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type === 'chunk') chunk.code = relocateScript(chunk.code, this.parse(chunk.code))
    }
  },
} satisfies Plugin

/** Replaces the placeholder in the pages and styles of a built site. */
export function relocatePages(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    if (name.endsWith('.css')) {
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(`${BASE}assets/`, ''))
    } else if (name.endsWith('.html') && !/^playground[\\/]/.test(name)) {
      writeFileSync(path, relocatePage(readFileSync(path, 'utf8'), name.replaceAll('\\', '/')))
    }
  }
}

/**
 * Returns a page that works at any address.
 *
 * - Its links become absolute before the scripts start, because VitePress keeps the sidebar when it shows another page.
 * - Its scripts are modules, which a browser does not load from the file system. There the page stays as it is: its text,
 *   its pictures and its links work.
 */
export function relocatePage(html: string, name: string): string {
  const depth = name.split('/').length - 1
  const root = depth === 0 ? './' : '../'.repeat(depth)
  let script = ''
  const body = html
    .replaceAll(/\s*<link rel="modulepreload" href="[^"]*">/g, '')
    .replace(/\s*<script type="module" src="([^"]*)"><\/script>/, (_, src: string) => {
      script = src.replace(BASE, root)
      return ''
    })
    // Within the text of a string, in which quotes are escaped.
    .replaceAll(`\\"base\\":\\"${BASE}\\"`, `\\"base\\":\\""+__SITE_PATH__+"\\"`)
    // The name of a page as a class.
    .replaceAll(BASE.replaceAll('/', '_'), '_')
    .replaceAll(/(href|src)="([^"]*)"/g, (_, name: string, value: string) => `${name}="${relocateLink(value, root)}"`)
  return body
    .replace('<head>', `<head>\n    <script>${PLACE.replace('ROOT', JSON.stringify(root))}</script>`)
    .replace('</body>', `<script>${START.replace('SCRIPT', script)}</script>\n  </body>`)
}

/** A link to a folder names its page, because a file system has no such rule. */
function relocateLink(link: string, root: string): string {
  if (/^(?:#|\w+:)/.test(link)) return link
  return link.replace(BASE, root).replace(/\/(?=#|$)/, '/index.html')
}

/** Gives the scripts of a page the path of the site, and marks pages whose scripts do not run. */
const PLACE = `var __SITE_PATH__=new URL(ROOT,location.href).pathname,__SITE_ROOT__=decodeURIComponent(__SITE_PATH__);\
if(location.protocol==='file:')document.documentElement.classList.add('from-files')`

/** Starts the scripts of a page. It is at the end of the page, so that all links are there. */
const START = `if(location.protocol!=='file:'){\
for(const link of document.querySelectorAll('a[href]'))if(!/^#/.test(link.getAttribute('href')))link.setAttribute('href',link.href);\
const script=document.createElement('script');script.type='module';script.src='SCRIPT';document.body.append(script)}`

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

function relocateScript(code: string, tree: unknown): string {
  let result = code
  for (const { type, start, end } of textsOf(tree).sort((a, b) => b.start - a.start)) {
    const text = code.slice(start, end)
    if (!text.includes(BASE)) continue
    const quote = text[0]!
    const relocated =
      type === 'TemplateElement'
        ? text.replaceAll(BASE, `\${${ROOT_IN_SCRIPTS}}`)
        : `(${text.replaceAll(BASE, `${quote}+${ROOT_IN_SCRIPTS}+${quote}`)})`
    result = result.slice(0, start) + relocated + result.slice(end)
  }
  return result
}

/** Returns every string and part of a template in a syntax tree. */
function textsOf(tree: unknown): Node[] {
  if (typeof tree !== 'object' || tree === null) return []
  const { type } = tree as Node
  if (type === 'Literal' || type === 'TemplateElement') return [tree as Node]
  return Object.values(tree).flatMap(textsOf)
}
