import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { run, shell, started } from './process.ts'

test('the banner names address, token and world, and both of its curl lines work as printed', async () => {
  const world = ['--seed', '7', '--fixtures', 'empty', '--weather', 'office-day']
  const { banner, url, child, end } = await started(['--port', '0', ...world])

  const lines = banner.trimEnd().split('\n')
  expect(lines.length).toBeLessThanOrEqual(12)
  expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80)
  expect(banner).not.toContain('\u001b')
  for (const word of [
    `modelhost-sim ${manifest.version}`,
    url,
    'seed 7',
    'fixtures empty',
    'weather   office-day',
    'scaled',
    '2026-01-01T00:00:00',
  ])
    expect(banner).toContain(word)

  const [list, advance] = lines.filter(line => line.startsWith('curl'))
  expect(list).toMatch(/Authorization: Bearer \S+"/)
  expect(JSON.parse((await shell(`${list} -s`)).stdout)).toEqual([])
  expect(JSON.parse((await shell(`${advance} -s`)).stdout)).toMatchObject({ events: expect.any(Number) })

  child.kill('SIGINT')
  expect(await end).toMatchObject({ code: 130, stderr: '' })
})

test.skipIf(process.platform !== 'linux')('--open opens the control room, and keeps the past', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'browser-'))
  const opened = join(folder, 'opened.txt')
  writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" > ${opened}\n`)
  chmodSync(join(folder, 'xdg-open'), 0o755)
  const { banner, url, child, end } = await started(['--port', '0', '--open'], {
    PATH: `${folder}:${process.env.PATH}`,
  })
  expect(banner).toContain(`page      ${url}/_sim/ui`)
  await vi.waitUntil(() => existsSync(opened) && readFileSync(opened, 'utf8') !== '', 10_000)
  expect(readFileSync(opened, 'utf8').trim()).toBe(`${url}/_sim/ui`)
  const page = await fetch(`${url}/_sim/ui`)
  expect([page.status, page.headers.get('content-security-policy')]).toEqual([200, expect.stringContaining("'none'")])
  expect(await fetch(`${url}/_sim/past`).then(response => response.json())).toMatchObject({ kept: true })
  child.kill('SIGINT')
  await end
})

test('flags and environment set the options of the world, and a flag takes precedence', async () => {
  const { banner, url, child, end } = await started(['serve', '--port', '0', '--seed', 'flag', '--clock', 'manual'], {
    MODELHOST_SIM_SEED: 'environment',
    MODELHOST_SIM_EPOCH: '2027-03-01T00:00:00Z',
    MODELHOST_SIM_DOCUMENTED_ONLY: '1',
    MODELHOST_SIM_DEPLOYMENTS: '40',
    MODELHOST_SIM_URL: 'http://of.no.concern',
    MODELHOST_SIM_TOKEN: 'of no concern',
  })
  expect(banner).toContain('seed flag')
  expect(banner).toContain('manual')
  const health = await fetch(`${url}/_sim/health`).then(response => response.json())
  expect(health).toMatchObject({ seed: 'flag', now: '2027-03-01T00:00:00.000000+00:00' })
  const headers = { authorization: 'Bearer sim_default_token' }
  const statuses = 'initializing,downloading,deploying,running,stopped,failed,deleted'
  const rows = await fetch(`${url}/deploy/list?status=${statuses}`, { headers }).then(response => response.json())
  expect((rows as { type: string }[]).length).toBeGreaterThanOrEqual(40)
  expect((await fetch(`${url}/deploy/none`, { headers })).status).toBe(404)

  child.kill('SIGTERM')
  expect(await end).toMatchObject({ code: 143, stderr: '' })
})

test('serve takes the variable PORT, names its paths, and prints a line of JSON for each request on stdout', async () => {
  const { url, child, end } = await started(
    ['serve', '--log', 'json', '--port', '0', '--clock', 'scaled'],
    {},
    'stderr',
  )
  await fetch(`${url}/deploy/none`, { headers: { authorization: 'Bearer sim_default_token' } })
  await fetch(`${url}/_sim/health`)
  child.kill('SIGTERM')
  const { stdout, stderr } = await end
  const lines = stdout.trimEnd().split('\n')
  expect(lines.map(line => JSON.parse(line))).toMatchObject([
    { method: 'GET', path: '/deploy/none', status: 404, operation: 'getDeployment', decidedBy: 'state' },
    { path: '/_sim/health', operation: 'getHealth' },
  ])
  for (const word of ['/_sim', '/openapi.json', '/_sim/ui', 'not reproducible']) expect(stderr).toContain(word)

  const { stderr: refusal, code } = await run(['serve'], { PORT: 'http' })
  expect([code, refusal]).toEqual([2, expect.stringContaining("Failed to read PORT 'http': not an integer")])
})

test('serve prints no line for requests if stdout is not a terminal, and refuses contradicting flags', async () => {
  const { banner, url, child, end } = await started(['serve', '--port', '0', '--cors'])
  const headers = { origin: 'http://localhost:5173' }
  const answer = await fetch(`${url}/deploy/list`, { headers })
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  child.kill('SIGTERM')
  expect((await end).stdout).toBe(banner)
  expect((await run(['serve', '--cors', 'localhost'])).stderr).toContain("Failed to read --cors 'localhost'")
})

test('serve takes a profile by name and prints a control token that is not required', async () => {
  const { url, child, end } = await started([
    ...['--port', '0', '--fixtures', 'two-nodes', '--clock', 'manual', '--profile', 'quick'],
    ...['--control-token', 'secret'],
  ])
  const created = await fetch(`${url}/deploy/llm`, {
    method: 'POST',
    headers: { authorization: 'Bearer sim_two_nodes_token' },
    body: '{"model_name":"chat","gpu":"H100-80GB","hub":{"repo":"acme/chat-8b"}}',
  })
  const { deploy_id } = (await created.json()) as { deploy_id: string }
  const waited = await fetch(`${url}/_sim/clock/until`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ get: `/deploy/${deploy_id}`, where: { status: 'running' }, within: '1m' }),
  })
  expect(await waited.json()).toMatchObject({ reached: true })
  child.kill('SIGTERM')
  expect((await end).stderr).toContain('--control-token is ignored on 127.0.0.1')
})

test.each([
  ['without a recording', []],
  ['with a recording', ['--record', join(mkdtempSync(join(tmpdir(), 'untyped-')), 'run.ndjson')]],
])('a type that a rule leaves out is missing in the process of a server %s', async (_, flags) => {
  const { url, child, end } = await started(['serve', '--port', '0', '--fixtures', 'empty', ...flags])
  const post = (path: string, body: unknown) =>
    fetch(`${url}${path}`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { 'content-type': 'application/json' },
    })
  await post('/_sim/faults', { on: '*', fault: { kind: 'headers', headers: { 'content-type': null } } })
  const answer = await fetch(`${url}/models/list`)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, null])
  child.kill('SIGINT')
  await end
})

test('a request in flight holds the first signal, not the second', async () => {
  const { banner, url, child, end } = await started(['--port', '0', '--fixtures', 'empty'])
  const token = /^token +(\S+)$/m.exec(banner)?.[1]
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /payment/funds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 9\r\n\r\n`,
  )
  // Another request on another socket: when it is answered, the first one has come in.
  await fetch(`${url}/_sim/health`)

  child.kill('SIGINT')
  await new Promise(resolve => child.stderr?.once('data', resolve))
  child.kill('SIGINT')
  // Two within a tenth of a second are one press of a key; so it is pressed until it counts.
  const pressing = setInterval(() => child.kill('SIGINT'), 50)
  const { code, stderr } = await end
  clearInterval(pressing)
  expect(code).toBe(130)
  expect(stderr).toContain('press again to stop at once')
})

test('a request in flight is answered when stderr is a closed pipe', async () => {
  const { banner, url, child, end } = await started(['--port', '0', '--fixtures', 'empty'])
  const token = /^token +(\S+)$/m.exec(banner)?.[1]
  const port = Number(new URL(url).port)
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('error', () => {})
  socket.on('data', data => {
    answer += data
  })
  socket.write(
    `POST /payment/funds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 14\r\n\r\n`,
  )
  // Another request on another socket: when it is answered, the first one has come in.
  await fetch(`${url}/_sim/health`)

  child.stderr?.destroy()
  child.kill('SIGTERM')
  // When the server takes no more connections, it has written its note on stderr.
  await vi.waitUntil(() => isRefused(port), { timeout: 10_000 })
  socket.write('{"amount":500}')
  expect((await end).code).toBe(143)
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('serve generates, prints and requires a control token when it binds beyond loopback', async () => {
  const { banner, url } = await started([
    '--host',
    '0.0.0.0',
    '--port',
    '0',
    '--fixtures',
    'empty',
    '--clock',
    'manual',
  ])
  const token = /^control +(\S{20,})$/m.exec(banner)?.[1] ?? ''
  expect(banner).toContain('other machines can reach this server')
  expect((await fetch(`${url}/_sim/clock`)).status).toBe(401)
  expect((await fetch(`${url}/_sim/clock`, { headers: { 'x-sim-control-token': token } })).status).toBe(200)
  const advance = banner.slice(banner.lastIndexOf('curl -H "x-sim')).replace('curl', 'curl -s').trimEnd()
  expect(JSON.parse((await shell(advance)).stdout)).toMatchObject({ from: '2026-01-01T00:00:00.000000+00:00' })
})

/** Whether a server takes no connections on a port. */
function isRefused(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(port, '127.0.0.1', () => {
      probe.destroy()
      resolve(false)
    })
    probe.on('error', () => resolve(true))
  })
}
