/** The recipes of examples/recipes: their commands run without containers, and promtool tests their rules. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../../package.json' with { type: 'json' }
import { freePort, Installed, runIn, start } from './installed.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const hasPytest = spawnSync('python3', ['-c', 'import pytest']).status === 0
const installed = new Installed()
let folder: string
beforeAll(() => {
  installed.build()
  folder = installed.copy('recipes')
}, 120_000)
afterAll(() => installed.remove(), 120_000)

const read = (name: string) => readFileSync(join(folder, name), 'utf8')
function write(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text, { mode: 0o755 })
}
/** Runs lines in a shell, with `npx` left out: it takes longer than the command. */
const shell = (lines: string, env: Record<string, string> = {}) =>
  runIn(folder, ['bash', '-e', '-o', 'pipefail', '-c', lines.replaceAll('npx ', 'node_modules/.bin/')], env)

describe(`the alert rules${hasPromtool ? '' : ' (skipped: promtool is missing)'}`, () => {
  test.skipIf(!hasPromtool)(
    'fire in the incident as the commands of the page show, and not with another limit',
    async () => {
      const [commands] = /npx modelhost-sim exec [\s\S]*?(?=\n```)/.exec(read('README.md'))!
      expect(await shell(commands)).toMatchObject({ code: 0, said: expect.stringContaining('SUCCESS') })
      for (const limit of ['> 0.02', '> 2\n', '> 100\n', 'XID_ERRORS) > 0']) {
        const rules = read('alerts.yml')
        expect(rules).toContain(limit)
        write('alerts.yml', rules.replace(limit, limit.replace(/> [\d.]+/, '> 1000000')))
        expect([limit, await shell('promtool test rules alerts.test.yml')]).toMatchObject([limit, { code: 1 }])
        write('alerts.yml', rules)
      }
    },
  )

  test.skipIf(!hasPromtool)('are in a configuration that promtool accepts', async () => {
    write('prometheus.yml', read('prometheus.yml').replace('/run/secrets/control_token', 'control_token'))
    write('control_token', 'secret')
    const { code, said } = await shell('promtool check config prometheus.yml')
    expect([said, code]).toEqual([expect.stringContaining('5 rules found'), 0])
  })
})

interface Compose {
  readonly services: {
    readonly simulator: { readonly command: readonly string[]; readonly environment: object; readonly ports: string[] }
  }
}

/** Returns what a container of the image starts, on a port that is free here. */
async function image() {
  const lines = read('Dockerfile').replaceAll('\\\n', '').split('\n')
  const after = (word: string) =>
    lines
      .find(line => line.startsWith(word))!
      .slice(word.length)
      .trim()
  const env = Object.fromEntries(
    after('ENV')
      .split(' ')
      .map(pair => pair.split('=')),
  )
  expect([after('COPY'), env.MODELHOST_SIM_PORT]).toEqual([
    `modelhost-sim-${manifest.version}.tgz /tmp/`,
    after('EXPOSE'),
  ])
  const port = await freePort()
  const [bin, ...args] = JSON.parse(after('ENTRYPOINT')) as string[]
  const health = JSON.parse(/CMD (.*)/.exec(after('HEALTHCHECK'))![1]!.replaceAll(after('EXPOSE'), port)) as string[]
  const command = [join(folder, 'node_modules/.bin', bin!), ...args]
  return { command, env: { ...env, MODELHOST_SIM_PORT: port }, port, health, user: after('USER') }
}

test('the command of the image serves with the flags of compose.yaml, and its health check and Prometheus reach it', async () => {
  const { command, env, port, health, user } = await image()
  const { simulator } = (parse(read('compose.yaml')) as Compose).services
  expect([user, simulator.ports]).toEqual(['node', ['127.0.0.1:4010:4010']])
  expect((await runIn(folder, health)).code).toBe(1)
  const [token] = Object.keys(simulator.environment)
  const server = start(folder, [...command, ...simulator.command], { ...env, [token!]: 'secret' })
  onTestFinished(() => void process.kill(-server.pid!, 'SIGKILL'))
  await new Promise(resolve => server.stdout!.once('data', resolve))
  expect((await runIn(folder, health)).code).toBe(0)

  const { metrics_path, static_configs } = parse(read('prometheus.yml')).scrape_configs[0]
  // The server answers to the name that it has in the network of the containers.
  const scrape = (token: string) =>
    shell(
      `curl -sS -o scraped -w '%{http_code}' -H 'Host: ${static_configs[0].targets[0]}' -H 'Authorization: Bearer ${token}' 127.0.0.1:${port}${metrics_path}`,
    )
  expect([(await scrape('secret')).said, (await scrape('other')).said]).toEqual(['200', '401'])
})

/** Replaces testcontainers for TypeScript: a container is a process. */
const FOR_TYPESCRIPT = `
import { spawn } from 'node:child_process'
const { command, env, port } = JSON.parse(process.env.IMAGE)
const also = set => function (value) { set(this, value); return this }
export const Wait = { forHttp: (path, port) => ({ path, port }) }
export class GenericContainer {
  static fromDockerfile = () => ({ build: async () => new GenericContainer() })
  withExposedPorts = also((self, port) => { self.port = port })
  withEnvironment = also((self, env) => { self.env = env })
  withCommand = also((self, args) => { self.args = args })
  withWaitStrategy = also((self, { port }) => { if (port !== self.port) throw new Error('waits for ' + port) })
  async start() {
    const child = spawn(command[0], [...command.slice(1), ...this.args], { env: { ...process.env, ...this.env, ...env } })
    await new Promise(resolve => child.stdout.once('data', resolve))
    return { getHost: () => '127.0.0.1', getMappedPort: asked => asked === this.port && port, stop: () => child.kill() }
  }
}`
/** Replaces testcontainers for Python. */
const FOR_PYTHON = `
import json, os, subprocess
IMAGE = json.loads(os.environ["IMAGE"])

class DockerImage:
    def __init__(self, path): assert (path / "Dockerfile").is_file()
    def __enter__(self): return self
    def __exit__(self, *_): pass

class DockerContainer:
    def __init__(self, image): self.env = {}
    def with_exposed_ports(self, port): self.port = port; return self
    def with_env(self, name, value): self.env[name] = value; return self
    def with_command(self, command): self.command = command.split(); return self
    def get_container_host_ip(self): return "127.0.0.1"
    def get_exposed_port(self, port): assert port == self.port; return IMAGE["port"]
    def __enter__(self):
        env = {**os.environ, **self.env, **IMAGE["env"]}
        self.process = subprocess.Popen(IMAGE["command"] + self.command, env=env, stdout=subprocess.PIPE, text=True)
        return self
    def __exit__(self, *_): self.process.kill(); self.process.wait(); self.process.stdout.close()

def wait_for_logs(container, text): assert any(text in line for line in container.process.stdout)
`

test('the recipe for Testcontainers in TypeScript passes when a process replaces the container', async () => {
  write('node_modules/testcontainers/package.json', '{ "type": "module", "exports": "./index.js" }')
  write('node_modules/testcontainers/index.js', FOR_TYPESCRIPT)
  symlinkSync(resolve('node_modules/vitest'), join(folder, 'node_modules/vitest'))
  const command = ['node', 'node_modules/vitest/vitest.mjs', 'run', 'testcontainers.test.ts']
  const { code, said } = await runIn(folder, command, { IMAGE: JSON.stringify(await image()) })
  expect([said, code]).toEqual([expect.stringMatching(/Tests {2}1 passed/), 0])
})

test.skipIf(!hasPytest)(
  `the recipe for Testcontainers in Python passes when a process replaces the container${hasPytest ? '' : ' (pytest is missing)'}`,
  async () => {
    for (const name of ['container', 'image', 'waiting_utils']) write(`testcontainers/core/${name}.py`, FOR_PYTHON)
    const command = ['python3', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_testcontainers.py']
    const { code, said } = await runIn(folder, command, { IMAGE: JSON.stringify(await image()) })
    expect([said, code]).toEqual([expect.stringMatching(/1 passed/), 0])
  },
)

/** Replaces gh. The one issue that it can keep open is the file `open`. */
const GH = `#!/bin/bash -e
case "$1 $2" in
  'issue list') if [ -f open ]; then echo 7; fi ;;
  'label create') ;;
  'issue create') test ! -f open; cp "\${!#}" open ;;
  'issue edit') test "$3" = 7; cp "\${!#}" open ;;
  'issue close') test "$3" = 7; rm open ;;
  *) exit 1 ;;
esac`

test('the workflow for drift keeps at most one issue, updates it, and closes it when nothing drifts', async () => {
  write('bin/gh', GH)
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`
  const { steps } = parse(read('drift.yml')).jobs.compare as { steps: { name?: string; run?: string }[] }
  const step = (name: string) => steps.find(one => one.name === name)!.run!
  const provider = (...paths: readonly string[]) => {
    const operation = { get: { responses: { 200: { description: 'a list' } } } }
    const document = { openapi: '3.1.0', info: { title: 'A cloud', version: '1' } }
    const served = Object.fromEntries(['/deploy/list', ...paths].map(path => [path, operation]))
    write('provider.json', JSON.stringify({ ...document, paths: served }))
  }
  const run = async () => {
    for (const name of ['Compare', 'Keep one issue']) {
      const { code, said } = await shell(step(name), { PATH, OPENAPI: 'provider.json' })
      if (code !== 0) return said
    }
    return existsSync(join(folder, 'open')) ? read('open') : 'no issue'
  }
  provider()
  await shell('npx modelhost-sim conform --openapi provider.json > conform.txt')
  expect(await run()).toBe('no issue')
  provider('/v1/novelties')
  expect(await run()).toMatch(/^```diff\n[\s\S]*\+.*\/v1\/novelties[\s\S]*```\n$/)
  provider('/v1/others')
  expect(await run()).toMatch(/\/v1\/others/)
  rmSync(join(folder, 'provider.json'))
  expect(await run()).toContain('provider.json')
  expect(read('open')).toMatch(/\/v1\/others/)
  provider()
  expect(await run()).toBe('no issue')
}, 120_000)
