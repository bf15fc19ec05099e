import type { Finding, TextFile } from './files.ts'

/** Between a program and its arguments. Programs that start others name both: `"command": "npx", "args": ["-y"`. */
const GAP = `["',:]*(?: *["']?args["':]*)?[ \\v]+`
/** Programs with the words that make them install from a registry, or run from there. */
const INSTALL = [
  `(?:npm|pnpm|yarn|bun|deno)${GAP}(?:global )?(?:install|i|add|create|init|dlx|x)`,
  `(?:npm${GAP}exec|npx)${GAP}(?:-y|--yes|-p|--package)`,
  `npx(?=${GAP}modelhost-sim@)`,
  `bunx|uvx`,
  `(?:pip3?|pipx|poetry|conda|brew|uv(?: pip| tool)?)${GAP}(?:install|add|run)`,
  `(?:docker|podman)${GAP}(?:pull|run|create)`,
].join('|')
/** An argument, which is not the end of a sentence. */
const ARGUMENT = `["']?(?!\\S*[.,](?:\\s|$))[^\\s;|&(){}"'\`]+["']?`
/** A path, a packed file, or what a container mounts: it comes from this repository. */
const LOCAL = `\\.{0,2}/|~|file:|\\S*\\.(?:tgz|whl)\\b|\\S*:/(?!/)`
const UNPUBLISHED = new RegExp(
  `\\b(?:${INSTALL})(?:[ \\v]+${ARGUMENT})*?[ \\v=]+["']?(?!${LOCAL})([^\\s;|&(){}"'\`]*modelhost[-_]sim[\\w.-]*)`,
  'g',
)

/**
 * Finds commands that install a package or an image of this repository by its name, in text of any kind. Its names are
 * not published: such a command fails, or installs what another person publishes. `npx modelhost-sim` alone is accepted,
 * because it runs an installed package.
 */
export function findUnpublishedInstalls({ path, text }: TextFile): Finding[] {
  if (!/modelhost[-_]sim/.test(text)) return []
  // Commands in several parts become one line: lists, lines with a backslash, strings with a plus, spans of Markdown.
  const joined = text
    .replaceAll(/\[[^\][]*\]|\\\n|["'`] \+\s+["'`]/g, parts =>
      parts.replaceAll(/[[\]"'`,+\\]/g, ' ').replaceAll('\n', '\v'),
    )
    .replaceAll(/(?<!`)`[^`\n]+\n[^`\n]+`(?!`)/g, span => (path.endsWith('.md') ? span.replace('\n', '\v') : span))
  return Array.from(joined.matchAll(UNPUBLISHED), ({ index, 1: name }) => {
    const line = joined.slice(0, index).split(/[\n\v]/).length
    return `${path}:${line}: installs ${name}, which is not published`
  })
}
