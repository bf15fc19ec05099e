import type { DefaultTheme } from 'vitepress'
import { titleOf } from './pages.ts'

/**
 * Returns the sidebar: the tables of docs/README.md, a group for each heading, and the decisions.
 *
 * @throws Error for a page of docs that these tables do not list
 */
export function sidebarOf(pages: ReadonlyMap<string, string>): DefaultTheme.SidebarItem[] {
  const index = pages.get('docs/index.md') ?? ''
  const groups = index
    .split(/^## /m)
    .slice(1)
    .flatMap((section): DefaultTheme.SidebarItem[] => {
      const title = section.slice(0, section.search(/[:\n]/))
      const items = Array.from(section.matchAll(/^\| \[(.+?)\]\((.+?)\.md\) \|/gm), ([, text, link]) => ({
        text: text!.replaceAll('`', ''),
        link: new URL(`${link}.html`, 'http://site/docs/').pathname,
      }))
      return items.length === 0 ? [] : [{ text: title, items, collapsed: false }]
    })
  const decisions = [...pages]
    .filter(([path]) => /^docs\/decisions\/\d/.test(path))
    .map(([path, text]) => ({ text: titleOf(text), link: `/${path.replace(/\.md$/, '.html')}` }))
  const listed = new Set([...groups.flatMap(({ items = [] }) => items), ...decisions].map(({ link }) => link))
  const missing = [...pages.keys()].filter(
    path => /^docs\/.*(?<!index)\.md$/.test(path) && !listed.has(`/${path.replace(/\.md$/, '.html')}`),
  )
  if (missing.length > 0) {
    throw new Error(`Failed to build the site: docs/README.md does not list ${missing.join(', ')}. Add a row for each.`)
  }
  return [
    {
      text: 'Start',
      items: [
        { text: 'What it is', link: '/' },
        { text: 'Playground', link: '/playground.html' },
        { text: 'All pages', link: '/docs/' },
      ],
    },
    ...groups,
    { text: 'Decisions', items: decisions, collapsed: true },
  ]
}
