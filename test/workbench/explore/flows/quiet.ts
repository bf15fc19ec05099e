/** Reads a list, and gives up calmly if it cannot: no fault breaks it. */
import { flow } from 'modelhost-sim/explore'

export default flow('quiet', { fixtures: 'two-nodes' }, async ({ fetch, url, token }) => {
  const headers = { authorization: `Bearer ${token}` }
  try {
    const response = await fetch(`${url}/deploy/list`, { headers, signal: AbortSignal.timeout(30_000) })
    return ((await response.json()) as unknown[]).length
  } catch {
    return undefined
  }
})
