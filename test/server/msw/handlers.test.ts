import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type AnyEndpoint, endpointPaths } from '../../../src/service/endpoint.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { handlers, listenOptions } from '../../../src/workbench/testing/msw.ts'

const BASE = 'https://api.example.test'
const PREFIXED = 'https://other.example.test/v9'

const sim = createSimulator({ seed: 1 })
const server = setupServer(...handlers(sim, { baseUrl: BASE }))
const authorization = `Bearer ${sim.token}`

beforeAll(() => server.listen(listenOptions))
beforeEach(() => sim.reset())
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const ask = (path: string, init: RequestInit = {}, base = BASE) =>
  fetch(`${base}${path}`, { ...init, headers: { authorization, ...init.headers } })

describe('a client of the service, under MSW', () => {
  // On Node 26, Response.clone() takes no tee() of a stream. There, only MSW 3 cancels an answer that it copied.
  const copiesStreams = Number.parseInt(process.versions.node, 10) < 26
  test.runIf(copiesStreams)(
    'cancels a body that it has no use for, and reads one into a buffer of its own',
    async () => {
      const refused = await ask('/deploy/none')
      expect(refused.status).toBe(404)
      await refused.body!.cancel()

      const listed = (await ask('/deploy/list')).body!.getReader({ mode: 'byob' })
      const { value } = await listed.read(new Uint8Array(9))
      expect(new TextDecoder().decode(value)).toBe('[{"deploy')
      await listed.cancel()

      sim.faults.add({ on: 'listVoices', fault: { kind: 'empty' } })
      const empty = (await ask('/v1/voices')).body!.getReader({ mode: 'byob' })
      expect((await empty.read(new Uint8Array(9))).done).toBe(true)
    },
  )

  test('cannot reach the network by a request that no handler takes', async () => {
    const error = vi.spyOn(console, 'error').mockImplementation(() => {})
    const reached: string[] = []
    const network = createServer((request, response) => {
      reached.push(request.url!)
      response.end('real')
    })
    try {
      await new Promise<void>(resolve => network.listen(0, '127.0.0.1', resolve))
      const { port } = network.address() as AddressInfo
      const url = `http://127.0.0.1:${port}/deploy/llm`
      await expect(fetch(url, { method: 'POST', body: '{}' })).rejects.toThrow('Failed to fetch')
      expect(await (await fetch('data:text/plain,real')).text()).toBe('real')
      expect(reached).toEqual([])
      expect(error).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(`POST ${url}`))
    } finally {
      error.mockRestore()
      network.close()
    }
  })

  test('leaves a copy of the answer to listeners of MSW', async () => {
    const watched: Promise<string>[] = []
    const watch = ({ response }: { response: Response }) => void watched.push(response.text())
    server.events.on('response:mocked', watch)
    const answer = await ask('/deploy/list')
    const text = await answer.text()
    server.events.removeListener('response:mocked', watch)

    expect(JSON.parse(text)).not.toEqual([])
    expect(await Promise.all(watched)).toEqual([text])
  })
})

describe('a base address with a prefix', () => {
  test('is removed before the path is matched', async () => {
    server.use(...handlers(sim, { baseUrl: `${PREFIXED}/` }))

    expect((await ask('/deploy/list', {}, PREFIXED)).status).toBe(200)
    expect((await ask('/nothing', {}, PREFIXED)).status).toBe(404)
    const { path } = handlers(sim, { baseUrl: PREFIXED })[0]!.info as { path: RegExp }
    expect(path.test('https://other.example.test/v99/deploy/list')).toBe(false)
  })

  test('is refused when it is not an http address', () => {
    expect(() => (handlers as (sim: unknown) => unknown)(sim)).toThrow('Failed to make handlers: there is no baseUrl.')
    expect(() => handlers(sim, { baseUrl: 'api.example.test' })).toThrow(
      "Failed to make handlers for 'api.example.test': it is not an http address. Give one, as in 'https://api.example.test/v9'.",
    )
    expect(() => handlers(sim, { baseUrl: 'file:///tmp' })).toThrow('it is not an http address')
  })

  test.each(['https://x.test?a=1', 'https://x.test/v9#a', 'https://*.test', 'https://x.test/*'])(
    'is refused when it is %s',
    baseUrl => {
      expect(() => handlers(sim, { baseUrl })).toThrow(
        `Failed to make handlers for '${baseUrl}': it has a query, a fragment or a wildcard. Give one, as in `,
      )
    },
  )
})

test('unknown paths that fall through reach the handlers behind, and known paths do not', async () => {
  server.resetHandlers(
    ...handlers(sim, { baseUrl: BASE, unknown: 'fallthrough' }),
    http.all(`${BASE}/*`, () => HttpResponse.text('behind', { status: 299 })),
  )

  expect((await ask('/no/such/path')).status).toBe(299)
  expect((await ask('/deploy/list')).status).toBe(200)
  expect((await ask('/deploy/list', { method: 'HEAD' })).status).toBe(200)
  expect((await ask('/deploy/list', { method: 'PATCH' })).status).toBe(405)
  expect((await ask('/openapi.json')).status).toBe(200)
})

test('one handler for each endpoint is listed with its method, literal paths before those with parameters', {
  tags: 'slow',
}, () => {
  const made = handlers(sim, { baseUrl: BASE, perEndpoint: true })
  const infos = made.map(({ info }) => info as { method: string | RegExp; path: RegExp })

  const paths = Object.values<AnyEndpoint>(sim.api.operations).flatMap(endpointPaths)
  expect(made).toHaveLength(paths.length + 1)
  const list = infos.findIndex(({ path }) => path.test(`${BASE}/deploy/list`))
  expect(infos[list]?.path.source).not.toContain('[^/]')
})
