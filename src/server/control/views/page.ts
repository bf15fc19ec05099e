import * as z from 'zod'
import { inSlices } from '../../../lib/slices.ts'
import { refuse } from '../../../service/refusals.ts'
import { Bytes } from '../../../service/results.ts'
import { control, refuseInvalid } from '../endpoint.ts'
import { requirePast } from '../endpoints/require.ts'

export const savePage = control({
  route: 'GET /_sim/page',
  summary:
    'Return one HTML file that runs the past of the world again when it is opened, without a server. It contains every ' +
    'request with its body; hashes replace credentials',
  refusals: {
    409: 'the past is not kept, or waits for requests in progress',
    501: 'this host cannot write pages',
  },
  produces: 'application/octet-stream',
  returns: z.string(),
  handle: async ({ sim, worlds, pasts, writePage }) => {
    if (writePage === undefined) {
      refuse(501, "Failed to save a page: this host has no parts of pages. Start a server with 'modelhost-sim serve'.")
    }
    const past = requirePast(pasts, sim, 'save a page')
    const name = worlds.findBySimulator(sim)?.name ?? 'world'
    const recording = await refuseInvalid(() => inSlices(past.recording()), 409)
    const worldsOfPage = [{ title: `the world '${name}'`, recording }]
    const page = await writePage({ title: `The world '${name}' at ${sim.clock.iso}`, worlds: worldsOfPage })
    // As bytes with a name: a browser must not run it with the rights of this address.
    return new Bytes([new TextEncoder().encode(page)], { filename: `${name}.html` })
  },
})
