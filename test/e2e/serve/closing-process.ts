/** A server in a process of its own that serves, closes, and then has nothing left to do. */

import { serve } from '../../../src/server/http/server.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'

async function main(): Promise<void> {
  const sim = createSimulator({ clock: { mode: 'scaled', speed: 60 } })
  const server = await serve(sim, { port: 0 })
  const headers = { authorization: `Bearer ${sim.token}` }
  const statuses = await Promise.all(
    ['/deploy/list', '/_sim/health', '/_sim/clock'].map(async path => {
      const response = await fetch(`${server.url}${path}`, { headers })
      await response.arrayBuffer()
      return response.status
    }),
  )
  await server.close()
  // No process.exit: whatever keeps this process alive after the close is a defect.
  console.log(JSON.stringify(statuses))
}

main()
