import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { onTestFinished } from 'vitest'

const TYPES: Readonly<Record<string, string>> = {
  ...{ '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' },
  ...{ '.json': 'application/json' },
}

/** A web server that serves the files of a folder below a path, and nothing else, until the test ends. Resolves with its URL. */
export async function serveFiles(folder: string, path: string): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://host')
    const file = fileAt(join(folder, decodeURIComponent(pathname.slice(path.length))))
    if (!pathname.startsWith(path) || file === undefined) {
      response.statusCode = 404
      return response.end()
    }
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
    // A browser that has a script does not compile it again.
    response.setHeader('cache-control', 'max-age=600')
    response.end(readFileSync(file))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
}

function fileAt(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat?.isDirectory()) return fileAt(join(path, 'index.html'))
  return stat?.isFile() ? path : undefined
}
