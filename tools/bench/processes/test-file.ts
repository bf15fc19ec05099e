/** Prints the milliseconds that a test file waits before its first answer: the import, the simulator, one request. */
const start = performance.now()
const { createSimulator } = await import('modelhost-sim')
const sim = createSimulator()
const response = await sim.fetch('http://sim/deploy/list', { headers: { authorization: `Bearer ${sim.token}` } })
await response.json()
console.log(performance.now() - start)
if (response.status !== 200) process.exitCode = 1

export {}
