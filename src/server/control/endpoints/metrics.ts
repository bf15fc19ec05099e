import * as z from 'zod'
import { inSlices, type Steps, withoutPause } from '../../../lib/slices.ts'
import { refuse } from '../../../service/refusals.ts'
import { Bytes } from '../../../service/results.ts'
import type { World } from '../../../simulation/world.ts'
import type { Simulator } from '../../../simulator/simulator.ts'
import type { Worlds } from '../../worlds/worlds.ts'
import { control } from '../endpoint.ts'
import { EngineReader, hasEngine } from '../metrics/engine-values.ts'
import { readGpus } from '../metrics/gpu-metrics.ts'
import type { MetricValues } from '../metrics/metric.ts'
import { acceptedFormat, metricsPage, TEXT_FORMATS } from '../metrics/metrics-text.ts'
import { readDeployments, readSimulator, readWorld } from '../metrics/world-metrics.ts'

export const getMetrics = control({
  route: 'GET /_sim/metrics',
  summary:
    'Return the metrics of the simulator, the deployments, all engines and all GPUs for Prometheus, at the virtual time. ' +
    'The format follows Accept: text 0.0.4 or OpenMetrics. docs/metrics.md lists the metrics',
  produces: TEXT_FORMATS.prometheus,
  returns: z.string(),
  handle: ({ sim, worlds, request }) => inSlices(wholePage(sim, worlds, request)),
})

export const getEngineMetrics = control({
  route: 'GET /_sim/engines/{instance}/metrics',
  summary:
    'Return the metrics of the engine of one instance, as the engine itself serves them. The format follows Accept',
  refusals: { 404: 'an unknown instance', 503: 'an instance whose engine does not answer yet' },
  produces: TEXT_FORMATS.prometheus,
  returns: z.string(),
  example: { target: '/_sim/engines/2cZeTxVFN7tKxCCh-0/metrics' },
  handle: ({ sim: { world }, params: { instance: id }, request }) => {
    const found = [...world.instances.entries()].find(([, row]) => row.id === id)
    if (found === undefined) {
      refuse(
        404,
        `Failed to read the metrics of '${id}': unknown instance. GET /_sim/metrics lists the engines as 'pod'.`,
      )
    }
    const [ordinal, { state }] = found
    if (!hasEngine(world, ordinal)) {
      refuse(503, `Failed to read the metrics of '${id}': it is ${state}. Advance the clock until it is ready.`)
    }
    const engine = new EngineReader(world).read(ordinal)
    const { model_name = '', engine: index = '' } = engine.labels
    return withoutPause(toPage(world, request, [{ ...engine, labels: { engine: index, model_name } }]))
  },
})

function* wholePage(sim: Simulator, worlds: Worlds, request: Request): Steps<Bytes> {
  // The world may change at a pause, and its copy does not.
  const world = sim.world.fork()
  const sources = [...readSimulator(sim, worlds), ...readWorld(sim.world)]
  for (const source of readDeployments(world)) {
    sources.push(source)
    yield
  }
  sources.push(...(yield* new EngineReader(world).readAll()))
  for (const source of readGpus(world)) {
    sources.push(source)
    yield
  }
  return yield* toPage(world, request, sources)
}

function* toPage({ apiTokens }: World, request: Request, sources: readonly MetricValues[]): Steps<Bytes> {
  const format = acceptedFormat(request.headers.get('accept') ?? '')
  const chunks: Uint8Array[] = []
  for (const piece of metricsPage(sources, format, label => apiTokens.hideSecrets(label))) {
    chunks.push(new TextEncoder().encode(piece))
    yield
  }
  return new Bytes(chunks, { contentType: TEXT_FORMATS[format] })
}
