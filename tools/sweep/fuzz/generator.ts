/** Generates the requests of an episode: each is a function of the seed, its index, and the values of the world so far. */
import fc from 'fast-check'
import { controlOperations } from '../../../src/server/control/index.ts'
import type { AnyEndpoint } from '../../../src/service/endpoint.ts'
import { operations } from '../../../src/service/index.ts'
import { exampleContents, likelyContents } from './likely-contents.ts'
import { type Likely, requests } from './requests.ts'
import type { Content, SentRequest } from './sent-request.ts'
import { KnownValues } from './values.ts'

/** A request with its place: the world, and the operation from whose declaration it was generated. */
export interface PlacedRequest {
  readonly plane: 'service' | 'control'
  readonly operation: string
  /** The world's position among those of the server, modulo their number. */
  readonly world: number
  readonly sent: SentRequest
}

/** How often an operation is generated. Default: 6 for the service, 2 for the control plane. */
const WEIGHTS: Readonly<Record<string, number>> = {
  advanceClock: 16,
  nextClock: 6,
  giveCommand: 16,
  addFault: 8,
  clearFaults: 6,
  healWorld: 4,
  createWorld: 3,
  createLlmDeployment: 14,
  createBatch: 12,
  uploadFile: 10,
  // They end what other requests need.
  deleteMe: 1,
  reset: 1,
  restoreSnapshot: 1,
  deleteWorld: 1,
}

export class Generator {
  readonly known = new KnownValues('')
  readonly #placed: fc.Arbitrary<PlacedRequest>

  /** @param inRealTime also clock modes that follow real time */
  constructor(inRealTime: boolean) {
    const likely = likelyContents(this.known, Object.keys(operations), inRealTime)
    const of = (plane: PlacedRequest['plane'], declared: Readonly<Record<string, AnyEndpoint>>, weight: number) =>
      Object.entries(declared).map(([operation, endpoint]) => ({
        weight: WEIGHTS[operation] ?? weight,
        arbitrary: fc
          .tuple(fc.nat(), requests(this.known, endpoint, this.#content(endpoint, likely[operation])))
          // Half of all requests are for the default world.
          .map(
            ([draw, sent]): PlacedRequest => ({
              plane,
              operation,
              world: draw % 2 === 0 ? 0 : draw >> 1,
              sent: inRealTime ? sent : withoutRealTime(sent),
            }),
          ),
      }))
    this.#placed = fc.noBias(
      fc.oneof(
        ...of('service', operations as Readonly<Record<string, AnyEndpoint>>, 6),
        ...of('control', controlOperations as Readonly<Record<string, AnyEndpoint>>, 2),
      ),
    )
  }

  #content({ example, path }: AnyEndpoint, likely: fc.Arbitrary<Content> | undefined): Likely {
    const isControl = path.startsWith('/_sim')
    if (likely !== undefined) return { content: likely, weight: 4, isControl }
    if (example.body === undefined) return { isControl }
    return { content: exampleContents(this.known, example.body), weight: 1, isControl }
  }

  /** Returns the request with this index. */
  request(seed: number, index: number): PlacedRequest {
    const mixed = (Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) | 0
    return fc.sample(this.#placed, { seed: mixed, numRuns: 1 })[0]!
  }
}

/** Replaces clock modes that follow real time, because no replay would repeat them. */
function withoutRealTime(sent: SentRequest): SentRequest {
  if (typeof sent.body !== 'string') return sent
  return { ...sent, body: sent.body.replaceAll(/"(?:scaled|idle)"/g, '"manual"') }
}
