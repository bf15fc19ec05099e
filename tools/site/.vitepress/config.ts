import { resolve } from 'node:path'
import { defineConfig } from 'vitepress'
import { collectPages } from '../pages.ts'
import { BASE, relocatedScripts } from '../relocate.ts'
import { sidebarOf } from '../sidebar.ts'

const site = resolve(import.meta.dirname, '..')

/** The cells of a fleet: two held, one idle, one broken. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="1" y="1" width="6" height="6" rx="1.5" fill="#1f6fb4"/><rect x="9" y="1" width="6" height="6" rx="1.5" fill="#1f6fb4"/><rect x="1" y="9" width="6" height="6" rx="1.5" fill="#9aa3b2"/><rect x="9" y="9" width="6" height="6" rx="1.5" fill="#d97706"/></svg>`

/**
 * A page of its own within the page of the site, because its style and its rules for content are its own. A link with a
 * target leaves the router of VitePress alone.
 */
const PLAYGROUND = `<p><a href="./playground/index.html" target="_self">Open it alone</a>, in the whole window.</p>
<iframe class="playground" src="./playground/index.html" title="Playground"></iframe>`

export default defineConfig({
  title: 'modelhost-sim',
  description: 'A flight simulator for integrations with a model-hosting cloud',
  lang: 'en',
  srcDir: resolve(site, '.sources'),
  outDir: resolve(site, 'dist'),
  cacheDir: resolve(site, '.cache'),
  base: BASE,
  // Without an icon, a browser asks the root of the host for one.
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  cleanUrls: false,
  ignoreDeadLinks: false,
  markdown: {
    // Pages of docs have no HTML but line breaks in tables: `<name>` in a page is a text.
    html: false,
    linkify: false,
    anchor: { slugify: githubSlug },
    config: markdown => {
      // Vue would read `{{ name }}` as a variable.
      const { text, code_inline } = markdown.renderer.rules
      markdown.renderer.rules.text = (...args) => text!(...args).replaceAll('{{', '&#123;&#123;')
      markdown.renderer.rules.code_inline = (...args) => code_inline!(...args).replaceAll('{{', '&#123;&#123;')
      markdown.inline.ruler.before('html_inline', 'line-break', (state, silent) => {
        if (!state.src.startsWith('<br>', state.pos)) return false
        if (!silent) state.push('hardbreak', 'br', 0)
        state.pos += '<br>'.length
        return true
      })
      markdown.block.ruler.before('paragraph', 'playground', (state, line, _end, silent) => {
        if (state.getLines(line, line + 1, 0, false) !== '[[playground]]') return false
        if (!silent) state.push('html_block', '', 0).content = PLAYGROUND
        state.line = line + 1
        return true
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Documentation', link: '/docs/' },
      { text: 'Playground', link: '/playground.html' },
    ],
    sidebar: sidebarOf(collectPages().pages),
  },
  vite: { plugins: [relocatedScripts], build: { chunkSizeWarningLimit: 4096 } },
})

/** Returns the anchor of a heading as GitHub makes it, which the links of docs use. VitePress numbers equal ones. */
function githubSlug(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}
