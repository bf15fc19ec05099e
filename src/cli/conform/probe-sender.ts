/** Sends the probes of an operation, each to its own fork of a world. */
import type { AnyEndpoint, Operations } from '../../service/endpoint.ts'
import { createExampleRequest } from '../../service/openapi/examples.ts'
import type { Simulator } from '../../simulator/simulator.ts'
import type { DocumentOperation } from './document.ts'
import { findResponse } from './findings.ts'
import { applyChange, type Probe, probesOf } from './probes.ts'

export class ProbeSender {
  readonly #sim: Simulator

  constructor(sim: Simulator) {
    this.#sim = sim
  }

  /** Sends every probe of an operation, and requests for a stream if `streams`. */
  async sendProbes(found: DocumentOperation, streams: boolean): Promise<Response[]> {
    const { operation, endpoint, operations } = this.#declarationOf(found)
    const probes = probesOf(operations, operation)
    if (streams && endpoint.streamEvent !== undefined) {
      const usage = { stream_options: { include_usage: true } }
      probes.push(...[{}, usage].map(more => ({ change: { fields: { stream: true, ...more } } })))
    }
    return Promise.all(probes.map(probe => this.#answerTo(found, probe)))
  }

  /** Sends a request for each status of errors that no probe has produced, under a fault rule that produces it. */
  async sendFaults(
    theirs: DocumentOperation,
    found: DocumentOperation,
    seen: ReadonlySet<number>,
  ): Promise<readonly Response[]> {
    const listed = [...theirs.responses.keys(), ...found.responses.keys()].filter(one => /^(?:429|5\d\d)$/.test(one))
    const statuses = [...new Set(listed.map(Number))].filter(
      status => !seen.has(status) && findResponse(theirs, status) !== undefined,
    )
    const { operation } = this.#declarationOf(found)
    const probe = (status: number): Probe => ({
      before: sim => sim.faults.add({ on: operation, fault: { kind: 'status', status } }),
    })
    return Promise.all(statuses.map(status => this.#answerTo(found, probe(status))))
  }

  /** Sends one probe in a fork of the world. */
  async #answerTo(found: DocumentOperation, { change = {}, before }: Probe): Promise<Response> {
    const { operation, endpoint, operations, isMirror } = this.#declarationOf(found)
    const sim = this.#sim.fork()
    const example = await createExampleRequest(operations, operation, sim.fetch, {
      baseUrl: 'http://sim',
      token: sim.token,
    })
    const exampleCopy = example.clone()
    await before?.(sim, () => exampleCopy.clone())
    const request = await applyChange(example, change)
    return sim.fetch(isMirror ? await applyChange(request, { path: mirrorPath(endpoint, request) }) : request)
  }

  #declarationOf({ at, method, path }: DocumentOperation) {
    const { api } = this.#sim
    const operations = api.operations as Operations
    const operation = api.findOperationId(method.toUpperCase(), path)!
    const endpoint = operations[operation] as AnyEndpoint
    return { operations, operation, endpoint, isMirror: at.value['x-mirror-of'] !== undefined }
  }
}

/** Returns the path of a request at the second path of its endpoint. */
function mirrorPath({ path, mirror }: AnyEndpoint, request: Request): string {
  const [home, second] = [path, mirror!].map(one => one.split('/{', 1)[0]!)
  return new URL(request.url).pathname.replace(home!, second!)
}
