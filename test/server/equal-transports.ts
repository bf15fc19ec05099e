/** Requests at three transports: the answers in the process, through MSW and over a socket are the same. */
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Server, serve } from '../../src/server/http/server.ts'
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts'
import { handlers, listenOptions } from '../../src/workbench/testing/msw.ts'
import { ask, type Row, WORLDS, type WorldName } from './request-table.ts'

/** The platform's own, from before MSW put itself in its place. */
const unwatchedFetch = globalThis.fetch
const BASE = 'https://api.example.test'
/** Neither the wall's time nor the usual epoch, so that a Date header which shows one of them is seen. */
const EPOCH = '2026-01-01T00:01:30.500Z'
const EPOCH_AS_DATE = 'Thu, 01 Jan 2026 00:01:30 GMT'

const msw = setupServer()

/** Three equal worlds of a kind, each behind a transport of its own. */
class Transports {
  readonly direct: Simulator
  readonly #intercepted: Simulator
  readonly #served: Simulator
  readonly #server: Server
  readonly #base: string
  static #opened = 0

  private constructor(sims: readonly [Simulator, Simulator, Simulator], server: Server) {
    ;[this.direct, this.#intercepted, this.#served] = sims
    this.#server = server
    this.#base = `${BASE}/${++Transports.#opened}`
    msw.use(...handlers(this.#intercepted, { baseUrl: this.#base }))
  }

  static async open(name: WorldName): Promise<Transports> {
    const options = {
      seed: 1,
      epoch: EPOCH,
      onBug: (error: unknown) => {
        throw error
      },
      ...WORLDS[name],
    }
    const served = createSimulator(options)
    const server = await serve(served, { port: 0 })
    return new Transports([createSimulator(options), createSimulator(options), served], server)
  }

  get sims(): readonly Simulator[] {
    return [this.direct, this.#intercepted, this.#served]
  }

  freshen(): void {
    for (const sim of this.sims) sim.reset()
  }

  readonly inProcess = (path: string, init: RequestInit) => this.direct.fetch(`http://sim${path}`, init)

  readonly overMsw = (path: string, init: RequestInit) => fetch(`${this.#base}${path}`, init)

  readonly overHttp = (path: string, init: RequestInit) => unwatchedFetch(`${this.#server.url}${path}`, init)

  async close(): Promise<void> {
    await this.#server.close()
  }
}

const open = new Map<WorldName, Promise<Transports>>()

function transportsOf(world: WorldName): Promise<Transports> {
  const found = open.get(world) ?? Transports.open(world)
  open.set(world, found)
  return found
}

/** Declares a test for each request. Their worlds are opened once for the file. */
export function testTransports(rows: readonly Row[]): void {
  beforeAll(() => msw.listen(listenOptions))
  afterAll(async () => {
    msw.close()
    for (const transports of open.values()) await (await transports).close()
  })

  describe.each(rows)('$operation', ({ cases }) => {
    test.each(cases)('$status: $name', async one => {
      const transports = await transportsOf(one.world)
      transports.freshen()
      const { token } = transports.direct

      let before = ''
      const direct = await ask(one, token, transports.inProcess, () => {
        before = transports.direct.digest
      })

      const expected = { status: one.status, type: 'application/json', date: EPOCH_AS_DATE, encoding: null }
      expect(direct).toMatchObject(expected)
      expect(await ask(one, token, transports.overMsw), 'through MSW').toEqual(direct)
      expect(await ask(one, token, transports.overHttp), 'over HTTP').toEqual(direct)
      if (one.status !== 200) expect(transports.direct.digest, 'a refusal changes nothing').toBe(before)
      const [here, ...there] = transports.sims.map(({ digest }) => digest)
      expect(there, 'the worlds after it').toEqual([here, here])
    })
  })
}
