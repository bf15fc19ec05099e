/** Pages of the package cite only files that the package has. */
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'

const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: readonly string[] }
/** Pages for those who change the simulator. They say that their paths are those of the repository. */
const OF_THE_REPOSITORY = /^(?:ARCHITECTURE\.md|CONTRIBUTING\.md|SECURITY\.md|docs\/decisions\/.*)$/

const pages = files
  .flatMap(path => (path.endsWith('.md') ? [path] : pagesIn(path)))
  .map(path => ({ path, text: readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '') }))

function pagesIn(folder: string): string[] {
  if (!/^(?:docs|examples|scenarios)$/.test(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter(path => path.endsWith('.md') && !path.includes('node_modules'))
}

function isPublished(path: string): boolean {
  return path === 'package.json' || files.some(file => path === file || path.startsWith(`${file}/`))
}

test('the links of every page of the package lead to files of the package', () => {
  const links = pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g), ([, link]) => ({ path, link: link! })),
  )
  const broken = links
    .filter(({ link }) => !/^(?:https?|mailto):/.test(link))
    .filter(({ path, link }) => !isPublished(posix.join(posix.dirname(path), link)))
  expect(links.length).toBeGreaterThan(100)
  expect(broken).toEqual([])
})

test('pages for users cite no file of the repository that the package lacks', () => {
  const cited = pages
    .filter(({ path }) => !OF_THE_REPOSITORY.test(path))
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(/`((?:src|test|bench|sweep|soak|tidy|scaffold|\.ci)\/[^`\s]+)`/g), ([, file]) => [
        path,
        file,
      ]),
    )
  expect(cited).toEqual([])
})

test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/README.md'])(
  '%s says whose paths it cites',
  path => {
    expect(readFileSync(path, 'utf8').replaceAll('\n', ' ')).toMatch(/[Pp]aths are those of the repository/)
  },
)
