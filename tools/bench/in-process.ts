/** The transports inside a test process: `sim.fetch`, and MSW. */
import { createSimulator, type Simulator } from 'modelhost-sim'
import { handlers } from 'modelhost-sim/msw'
import { HttpResponse, http, type RequestHandler } from 'msw'
import { setupServer } from 'msw/node'
import { atLeast, type Bench, type Group } from './figure.ts'
import { throughput, type Window, window } from './measure.ts'
import { boundless, creation } from './stage.ts'

const BASE = 'https://api.bench.test'

export const inProcess: Group = {
  name: 'in-process',
  figures: [
    {
      name: 'fetch_get_one_rps',
      unit: 'requests per CPU second',
      goal: atLeast(0.7, 'ratio'),
      run: async bench => {
        const { sim, url, init, record } = await oneDeployment()
        const records = new Map([[new URL(url).pathname, record]])
        const bare = async () => {
          const request = new Request(url, init)
          const found = records.get(request.url.slice(BASE.length))
          const response = new Response(JSON.stringify(found), {
            status: request.headers.has('authorization') ? 200 : 401,
            headers: { 'content-type': 'application/json' },
          })
          return response.json()
        }
        const ours = async () => (await sim.fetch(url, init)).json()
        return throughput(
          bench,
          'fetch_get_one_rps',
          () => window(bench, ours),
          () => window(bench, bare),
        )
      },
    },
    {
      name: 'msw_get_one_rps',
      unit: 'requests per CPU second',
      goal: atLeast(0.9, 'ratio'),
      run: async bench => {
        const { sim, url, init, record } = await oneDeployment()
        const call = async () => (await fetch(url, init)).json()
        const ours = handlers(sim, { baseUrl: BASE })
        const bare = [http.get(url, () => HttpResponse.json(record))]
        return throughput(
          bench,
          'msw_get_one_rps',
          () => intercepted(bench, ours, call),
          () => intercepted(bench, bare, call),
        )
      },
    },
  ],
}

async function intercepted(
  bench: Bench,
  having: readonly RequestHandler[],
  call: () => Promise<unknown>,
): Promise<Window> {
  const server = setupServer(...having)
  server.listen({ onUnhandledRequest: 'error' })
  try {
    return await window(bench, call)
  } finally {
    server.close()
  }
}

interface OneDeployment {
  sim: Simulator
  url: string
  init: { headers: { authorization: string } }
  record: { deploy_id: string }
}

async function oneDeployment(): Promise<OneDeployment> {
  const sim = createSimulator({ fixtures: boundless() })
  const init = { headers: { authorization: `Bearer ${sim.token}` } }
  const created = await sim.fetch(`${BASE}/deploy/llm`, {
    method: 'POST',
    headers: { ...init.headers, 'content-type': 'application/json' },
    body: JSON.stringify(creation('one')),
  })
  const record = (await created.json()) as { deploy_id: string }
  return { sim, url: `${BASE}/deploy/${record.deploy_id}`, init, record }
}
