import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { collectPages, mapLinks, ROOT } from '../../../tools/site/pages.ts'
import { sidebarOf } from '../../../tools/site/sidebar.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

function repository(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

test('the site has every page of docs, and what pages link to: pages, code, folders and pictures', () => {
  const root = repository({
    'README.md': '# Start\n[docs](docs/README.md)',
    'docs/README.md': '# All\n[code](../scenarios/a.yaml), [folder](../examples), [the first](decisions#one)',
    'docs/alone.md': '# Alone\n![picture](figures/a.svg)',
    'docs/figures/a.svg': '<svg/>',
    'docs/decisions/0001-one.md': '# `One`\n[up](../alone.md#alone)',
    'scenarios/a.yaml': 'name: ```a```\n',
    'scenarios/b.yaml': 'name: b\n',
    'examples/curl/README.md': '# With curl\n',
    'examples/notes.txt': 'notes\n',
  })
  const { pages, images } = collectPages(root)
  expect(images).toEqual(['docs/figures/a.svg'])
  expect(Object.fromEntries(pages)).toEqual({
    'index.md': '# Start\n[docs](./docs/index.md)',
    'docs/index.md':
      '# All\n[code](../scenarios/a.yaml.md), [folder](../examples/index.md), [the first](./decisions/index.md#one)',
    'docs/alone.md': '# Alone\n![picture](figures/a.svg)',
    'docs/decisions/index.md': '# Decisions\n\n- [One](./0001-one.md)\n',
    'docs/decisions/0001-one.md': '# `One`\n[up](../alone.md#alone)',
    'scenarios/a.yaml.md': '# a.yaml\n\n`scenarios/a.yaml`\n\n````yaml\nname: ```a```\n````\n',
    'examples/index.md': '# Examples\n\n- [With curl](./curl/index.md)\n- [notes.txt](./notes.txt.md)\n',
    'examples/curl/index.md': '# With curl\n',
    'examples/notes.txt.md': '# notes.txt\n\n`examples/notes.txt`\n\n```text\nnotes\n```\n',
  })
})

test('links that lead nowhere or out of the repository fail the build, each with its page', () => {
  const root = repository({
    'README.md': '[gone](docs/gone.md) `[code](not/a/link.md)` [out](../out.md) [web](https://example.test) [here](#a)',
    'docs/README.md': '```md\n[in a block](nowhere.md)\n```\n![no picture](figures/none.svg)',
  })
  expect(() => collectPages(root)).toThrow(
    'Failed to build the site: 3 links lead nowhere. Mend them:\n' +
      'README.md: docs/gone.md\nREADME.md: ../out.md\ndocs/README.md: figures/none.svg',
  )
})

test('code keeps its links, in spans and in blocks of any fence', () => {
  const text = '[a](a) `[b](b)`\n~~~~md\n[c](c)\n~~~\n~~~~\n[`d`](d)\n  ```\n  [e](e)\n  ```\n[f](f)'
  expect(mapLinks(text, link => link.toUpperCase())).toBe(
    '[a](A) `[b](b)`\n~~~~md\n[c](c)\n~~~\n~~~~\n[`d`](D)\n  ```\n  [e](e)\n  ```\n[f](F)',
  )
})

test('the sidebar lists every page of docs of this repository, and refuses one that the index lacks', () => {
  const { pages } = collectPages(ROOT)
  const links = sidebarOf(pages).flatMap(({ items = [] }) => items.map(({ link }) => link!))
  expect(links.filter(link => !link.startsWith('/docs/decisions/')).length).toBeGreaterThan(35)
  const files = links.filter(link => !/\/$|playground/.test(link)).map(link => link.slice(1).replace(/\.html$/, '.md'))
  expect(files.filter(path => !pages.has(path))).toEqual([])
  expect(() => sidebarOf(new Map([...pages, ['docs/unlisted.md', '# Unlisted']]))).toThrow(
    'Failed to build the site: docs/README.md does not list docs/unlisted.md. Add a row for each.',
  )
})
