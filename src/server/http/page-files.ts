/** The files of the control room, as a server sends them. */
import { existsSync, readFileSync } from 'node:fs'
import { PAGE_PATH, type PageFiles } from '../routing/request-router.ts'

/** The page loads only its own files, and sends requests only to its own server. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>modelhost-sim</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${PAGE_PATH}/page.css">
<script type="module" src="${PAGE_PATH}/page.js"></script>
</head>
<body><div id="app"></div><noscript>The control room requires JavaScript.</noscript></body>
</html>
`

const CONTENT_TYPES = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' } as const

export const BUNDLED_PAGE_FILES: PageFiles = {
  answer(pathname) {
    if (pathname === PAGE_PATH || pathname === `${PAGE_PATH}/`) {
      return Promise.resolve(respond(DOCUMENT, 'text/html; charset=utf-8'))
    }
    const [, name, type] = /^\/_sim\/ui\/(page\.(js|css))$/.exec(pathname) ?? []
    if (name === undefined) return undefined
    return readBundled(name).then(text => respond(text, CONTENT_TYPES[type as keyof typeof CONTENT_TYPES]))
  },
}

async function readBundled(name: string): Promise<string> {
  const built = new URL(`ui/${name}`, import.meta.url)
  if (existsSync(built)) return readFileSync(built, 'utf8')
  // From the source.
  const { bundlePage } = await import(new URL('../../../tools/build/bundle-page.js', import.meta.url).href)
  return (await bundlePage())[name]!
}

function respond(text: string, type: string): Response {
  return new Response(text, {
    headers: {
      'content-type': type,
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'cache-control': 'no-cache',
    },
  })
}
