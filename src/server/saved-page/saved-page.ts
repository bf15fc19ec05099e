/** Writes one HTML file that holds the simulator and recordings, and runs the worlds again when it is opened. */

import { escapeXml } from '../../lib/quote.ts'
import type { Steps } from '../../lib/slices.ts'
import { encodeContent, type SavedContent } from './content.ts'
import { ELEMENTS, type PageParts } from './parts.ts'

/**
 * Returns the text of a saved page. Its policy lets no request leave, and runs only the scripts of its parts. Equal
 * contents give equal texts.
 */
export function* savedPage(parts: PageParts, content: SavedContent): Steps<string> {
  const { loader, style, code, tokenizer } = parts
  const scripts = [loader, code, ...(tokenizer === undefined ? [] : [tokenizer])]
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map(({ hash }) => `'sha256-${hash}'`).join(' ')}`,
    `style-src 'sha256-${style.hash}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const title = escapeXml(content.title)
  yield
  const partsData = toDataBlock(
    JSON.stringify({ loader: { hash: loader.hash }, style: { hash: style.hash }, code, tokenizer }),
  )
  yield
  const contentData = toDataBlock(yield* encodeContent(content))
  yield
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style id="${ELEMENTS.style}">${style.text}</style>
</head>
<body>
<div id="${ELEMENTS.root}">
<main class="saved-page">
<h1>${title}</h1>
<p role="status">This page runs a simulation again. If it stays like this, the file is incomplete, or scripts are off.</p>
</main>
</div>
<script type="application/json" id="${ELEMENTS.parts}">${partsData}</script>
<script type="application/json" id="${ELEMENTS.content}">${contentData}</script>
<script id="${ELEMENTS.loader}">${loader.text}</script>
</body>
</html>
`
}

/** Returns JSON that no HTML parser takes for markup: `<` occurs in texts alone, where JSON can escape it. */
function toDataBlock(json: string): string {
  return json.replaceAll('<', String.raw`\u003c`)
}
