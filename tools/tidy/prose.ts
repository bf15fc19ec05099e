import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { BANNED_WORDS, EXEMPT_FROM_BANNED_WORDS } from './banned-words.ts'
import { type Finding, ROOT, type TextFile } from './files.ts'

const MAX_WORDS = 30
const MAX_LINE = 120
/** Generated reference pages, which say the same of many endpoints. */
const REFERENCE_PAGES = ['docs/endpoints.md', 'docs/control.md', 'docs/profile.md']
/** Shorter sentences may be repeated, as "Default: none." is. */
const MIN_DOUBLED_WORDS = 8

export interface DocumentFindings {
  readonly longSentences: Finding[]
  readonly longLines: Finding[]
  readonly doubledSentences: Finding[]
  readonly brokenLinks: Finding[]
}

/** Finds banned words in text of any kind, code included. */
export function findBannedWords({ path, text }: TextFile): Finding[] {
  if (path in EXEMPT_FROM_BANNED_WORDS) return []
  return text.split('\n').flatMap((line, i) =>
    Array.from(line.matchAll(BANNED_WORDS), ([word]) => word)
      // Upper case tells the name of a function from the word "demands".
      .filter(word => !/^demand/i.test(word) || /^demand[A-Z]/.test(word))
      // In Python, None is a value.
      .filter(word => !word.endsWith(' None'))
      .map(word => `${path}:${i + 1}: banned word '${word}'`),
  )
}

/** Checks a Markdown document, code blocks excepted. `exists` says whether a path from the root is a file or folder. */
export function checkDocument(
  { path, text }: TextFile,
  { exists = isInRepository, headings = headingsInRepository } = {},
): DocumentFindings {
  const lines = withoutCodeBlocks(text)
  const found: DocumentFindings = { longSentences: [], longLines: [], doubledSentences: [], brokenLinks: [] }
  lines.forEach((line, i) => {
    // Markdown cannot break a row of a table, nor a link.
    const canBreak = !isTableRow(line) && /\s/.test(line.slice(0, MAX_LINE).trim())
    if (line.length > MAX_LINE && canBreak) found.longLines.push(`${path}:${i + 1}: ${line.length} characters`)
    for (const [, link] of line.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g))
      if (!leadsSomewhere(link!)) found.brokenLinks.push(`${path}:${i + 1}: broken link ${link}`)
  })

  const seen = new Set<string>()
  for (const { sentence, line, isCell } of sentencesOf(lines)) {
    const words = sentence.split(' ')
    const shown = `${words.slice(0, 12).join(' ')}…`
    if (words.length > MAX_WORDS) found.longSentences.push(`${path}:${line}: ${words.length} words: ${shown}`)
    const key = sentence.toLowerCase()
    if (isCell || words.length < MIN_DOUBLED_WORDS || REFERENCE_PAGES.includes(path)) continue
    if (seen.has(key)) found.doubledSentences.push(`${path}:${line}: again: ${shown}`)
    seen.add(key)
  }
  return found

  function leadsSomewhere(link: string): boolean {
    if (/^(?:https?|mailto):/.test(link)) return true
    const [file, anchor] = link.split('#') as [string, string | undefined]
    const target = file === '' ? path : posix.join(posix.dirname(path), file)
    const ofTarget = () => (file === '' ? slugsOf(lines) : headings(target))
    return (
      (target === path || exists(target)) &&
      (anchor === undefined || !target.endsWith('.md') || ofTarget().includes(anchor))
    )
  }
}

interface Block {
  text: string
  readonly line: number
  readonly isCell: boolean
}

/** A table in an item of a list is indented. */
function isTableRow(line: string): boolean {
  return /^\s*\|/.test(line)
}

/** Returns the sentences, each with the line on which its paragraph, list item or cell of a table begins. */
function sentencesOf(lines: readonly string[]): { sentence: string; line: number; isCell: boolean }[] {
  const blocks: Block[] = []
  lines.forEach((text, i) => {
    const line = i + 1
    const last = blocks.at(-1)
    if (isTableRow(text)) {
      blocks.push(
        ...text
          .trim()
          .split(/(?<!\\)\|/)
          .map(cell => ({ text: cell.trim(), line, isCell: true })),
      )
    } else if (last === undefined || last.isCell || /^\s*(?:$|[-*+#>]+\s|\d+\.\s)/.test(text)) {
      blocks.push({ text: text.replace(/^\s*(?:[-*+#>]+|\d+\.)\s+/, ''), line, isCell: false })
    } else last.text += ` ${text.trim()}`
  })
  return blocks.flatMap(({ text, line, isCell }) =>
    text
      .replaceAll(/`[^`]*`/g, 'Code')
      .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/\*\*|__/g, '')
      .split(/<br>|(?<=[.!?:;]\)?)\s+(?=["'(]?[A-Z\d])/)
      .map(sentence => ({ sentence: sentence.trim().replaceAll(/\s+/g, ' '), line, isCell }))
      .filter(({ sentence }) => sentence !== ''),
  )
}

/** The lines of a document, those of code blocks and comments empty. */
function withoutCodeBlocks(text: string): string[] {
  let fence: string | undefined
  return text
    .replaceAll(/<!--[\s\S]*?-->/g, comment => comment.replaceAll(/[^\n]/g, ''))
    .split('\n')
    .map(line => {
      const mark = /^\s*(```+|~~~+)/.exec(line)?.[1]
      const isInside = fence !== undefined
      if (mark !== undefined && !isInside) fence = mark
      else if (mark?.startsWith(fence!)) fence = undefined
      return isInside || mark !== undefined ? '' : line
    })
}

/** Anchors of the headings, as GitHub makes them. */
function slugsOf(lines: readonly string[]): string[] {
  const counts = new Map<string, number>()
  return lines.flatMap(line => {
    const title = /^#+\s+(.*?)\s*#*$/.exec(line)?.[1]
    if (title === undefined) return []
    const slug = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return [count === 0 ? slug : `${slug}-${count}`]
  })
}

function isInRepository(path: string): boolean {
  return existsSync(posix.join(ROOT, path))
}

function headingsInRepository(path: string): string[] {
  return slugsOf(withoutCodeBlocks(readFileSync(posix.join(ROOT, path), 'utf8')))
}
