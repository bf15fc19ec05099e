/** The baseline of `test-file`: prints the milliseconds that MSW takes to its import, `setupServer` and one answer. */
const start = performance.now()
const { HttpResponse, http } = await import('msw')
const { setupServer } = await import('msw/node')
const server = setupServer(http.get('http://sim/deploy/list', () => HttpResponse.json([])))
server.listen()
const response = await fetch('http://sim/deploy/list')
await response.json()
console.log(performance.now() - start)
if (response.status !== 200) process.exitCode = 1
server.close()

export {}
