/** A page that lists deployments and creates them. It uses the token of the user who is signed in, from a cookie. */
import { createServer } from 'node:http'

const { APP_PORT = '3000', MODELHOST_URL = 'https://api.example.test' } = process.env

createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://app')
  const token = /(?:^|;\s*)token=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]
  const service = (path, init) =>
    fetch(`${MODELHOST_URL}${path}`, { ...init, headers: { authorization: `Bearer ${token}` } })
  const html = (status, text) => response.writeHead(status, { 'content-type': 'text/html' }).end(text)

  if (pathname === '/health') return html(200, 'ok')
  if (request.method === 'POST' && pathname === '/models') {
    const spec = {
      model_name: searchParams.get('name'),
      gpu: 'H100-80GB',
      hub: { repo: 'acme/chat-8b' },
    }
    try {
      const created = await service('/deploy/llm', { method: 'POST', body: JSON.stringify(spec) })
      if (created.ok) return html(201, `${spec.model_name} is on its way`)
      return html(502, `${spec.model_name} could not be deployed: ${(await created.json()).error}`)
    } catch {
      // The connection broke, so the model may be deployed: the list of the page shows it.
      return html(502, `It is unknown whether ${spec.model_name} is deployed. Look at the list before you try again.`)
    }
  }
  try {
    const listed = await service('/deploy/list')
    if (!listed.ok) throw new Error(`status ${listed.status}`)
    const present = (await listed.json()).filter(({ status }) => status !== 'deleted')
    const rows = present.map(({ model_name, status }) => `<li>${model_name}: ${status}</li>`)
    html(200, rows.length === 0 ? '<p>Nothing is deployed.</p>' : `<ul>${rows.join('')}</ul>`)
  } catch {
    html(502, 'The service is in trouble. Try again in a moment.')
  }
}).listen(Number(APP_PORT), '127.0.0.1')
