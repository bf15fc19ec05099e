/** The pages of the site: those of docs, and what they link to. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, posix, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Languages of code pages by the ending of the file. Others are plain text. */
const LANGUAGES: Readonly<Record<string, string>> = {
  ...{ '.ts': 'ts', '.js': 'js', '.mjs': 'js', '.json': 'json', '.jsonl': 'json', '.yaml': 'yaml', '.yml': 'yaml' },
  ...{ '.sh': 'sh', '.py': 'python', '.toml': 'toml' },
}
const IMAGE = /\.(?:svg|png|webp)$/
const SKIPPED = /^(?:node_modules|dist|__pycache__|\..*)$/

/** The files of the site before VitePress builds it. Paths are relative, with forward slashes. */
export interface Sources {
  /** Markdown by its path in the site. */
  readonly pages: ReadonlyMap<string, string>
  /** Paths of pictures, which are those of the repository. */
  readonly images: readonly string[]
}

/**
 * Returns every page of docs, and every page, file and folder of the repository that a page links to. The paths are those
 * of the repository, but a `README.md` is the `index.md` of its folder. A file that is not Markdown gets a page with its
 * code, and a folder without a `README.md` gets a list.
 *
 * @param root the folder of the repository
 * @throws Error for links that lead nowhere; it names each
 */
export function collectPages(root = ROOT): Sources {
  const pages = new Map<string, string>()
  const images = new Set<string>()
  const dead: string[] = []
  const waiting = ['README.md', ...filesBelow(root, 'docs').filter(path => path.endsWith('.md'))]
  const seen = new Set(waiting)
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const text = markdownOf(root, path)
    const linked = mapLinks(text, link => {
      const [file, anchor] = link.split('#') as [string, string | undefined]
      if (file === '' || /^\w+:/.test(file)) return link
      const target = posix.join(posix.dirname(path!), file).replace(/\/$/, '')
      if (target.startsWith('..') || !existsSync(join(root, target))) {
        dead.push(`${path}: ${link}`)
        return link
      }
      if (IMAGE.test(target)) {
        images.add(target)
        return link
      }
      const source = sourceOf(root, target)
      if (!seen.has(source)) {
        seen.add(source)
        waiting.push(source)
      }
      const relative = posix.relative(posix.dirname(pagePath(root, path!)), pagePath(root, source))
      return `${relative.startsWith('.') ? '' : './'}${relative}${anchor === undefined ? '' : `#${anchor}`}`
    })
    pages.set(pagePath(root, path), linked)
  }
  if (dead.length > 0) {
    throw new Error(`Failed to build the site: ${dead.length} links lead nowhere. Mend them:\n${dead.join('\n')}`)
  }
  return { pages, images: [...images].sort() }
}

/** Returns the first heading of a page, without its marks. */
export function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? ''
}

/** Replaces the targets of links and images of Markdown, those in code excepted. */
export function mapLinks(markdown: string, map: (link: string) => string): string {
  return markdown
    .split(/(^ *(?<fence>```+|~~~+)[\s\S]*?^ *\k<fence>$|`[^`\n]+`)/m)
    .filter((part, i) => i % 3 !== 2 && part !== undefined)
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll(/\]\(([^)\s]+)\)/g, (_, link) => `](${map(link)})`)))
    .join('')
}

/** Returns the path of the file with the content of a path: the `README.md` of a folder that has one. */
function sourceOf(root: string, path: string): string {
  const readme = posix.join(path, 'README.md')
  return statSync(join(root, path)).isDirectory() && existsSync(join(root, readme)) ? readme : path
}

/** Returns the path of a page in the site. */
function pagePath(root: string, path: string): string {
  if (path.endsWith('.md')) return path.replace(/(^|\/)README\.md$/, '$1index.md')
  return statSync(join(root, path)).isDirectory() ? `${path}/index.md` : `${path}.md`
}

function markdownOf(root: string, path: string): string {
  const file = join(root, path)
  if (statSync(file).isDirectory()) return listOf(root, path)
  const text = readFileSync(file, 'utf8')
  if (path.endsWith('.md')) return text
  const fence = '`'.repeat(Math.max(3, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length + 1)))
  return `# ${posix.basename(path)}\n\n\`${path}\`\n\n${fence}${LANGUAGES[extname(path)] ?? 'text'}\n${text.trimEnd()}\n${fence}\n`
}

/** Returns a page that lists the pages, files and folders of a folder. Its links begin beside the folder, as its path does. */
function listOf(root: string, folder: string): string {
  const own = posix.basename(folder)
  const items = readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.test(name))
    .map(({ name }) => {
      const source = sourceOf(root, posix.join(folder, name))
      const title = source.endsWith('.md') ? titleOf(readFileSync(join(root, source), 'utf8')) : ''
      return `- [${title === '' ? name : title}](${own}/${name})`
    })
    .sort()
  return `# ${own[0]!.toUpperCase()}${own.slice(1)}\n\n${items.join('\n')}\n`
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter(path => statSync(join(root, path)).isFile())
    .sort()
}
