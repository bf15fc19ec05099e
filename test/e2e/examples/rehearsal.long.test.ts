/**
 * A rehearsal of the first publication: the steps of the release workflow, then a project that installs the packed file
 * and has no network from there on. npm installs the dependencies from its registry.
 */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../../package.json' with { type: 'json' }
import { installed, packageIn } from '../installed-package.ts'
import { freePort, runIn } from './installed.ts'

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly name?: string; readonly run?: string }[] }>
  >
}

/** No repository has this name: an owner cannot begin with a hyphen. */
const REPOSITORY = { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: '-/-' }
/** Starts a command with no network but loopback, where the system can do that. */
const ALONE = ['unshare', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
const canBeAlone = spawnSync(ALONE[0]!, [...ALONE.slice(1), 'true']).status === 0
const RUNNERS = ['vitest', 'jest', 'node-test', 'playwright']
const hasPytest = spawnSync('python3', ['-c', 'import sys, pytest; sys.exit(sys.version_info < (3, 11))']).status === 0

const home = mkdtempSync(join(tmpdir(), 'modelhost-sim-rehearsal-'))
const published = join(home, 'published')
const project = join(home, 'project')
const { jobs } = parse(readFileSync('.github/workflows/release.yml', 'utf8')) as Workflow
const { writeTypes } = await import(resolve('tools/build/bundle-types.js'))
beforeAll(async () => {
  cpSync(packageIn(installed()), published, { recursive: true })
  await writeTypes(join(published, 'dist/types'))
}, 300_000)
// Many files of several packages are removed.
afterAll(() => rmSync(home, { recursive: true, force: true }), 120_000)

/** Runs a step of the workflow, as a runner of GitHub does. */
function step(job: string, name: string, env: Record<string, string>) {
  const { run } = jobs[job]!.steps.find(one => one.name === name)!
  return runIn(published, ['bash', '-e', '-o', 'pipefail', '-c', run!], env)
}

test('the workflow accepts a tag only when both packages and the changelog have its version', async () => {
  const changes = join(published, 'CHANGELOG.md')
  const compare = (tag: string) => step('check', 'Compare the versions with the tag', { GITHUB_REF_NAME: tag })
  writeFileSync(changes, readFileSync(changes, 'utf8').replace('## Unreleased', `## ${manifest.version}`))
  expect(await compare(`v${manifest.version}`)).toMatchObject({ code: 0 })
  expect(await compare('v9.9.9')).toMatchObject({ code: 1 })
  writeFileSync(changes, '# Changelog\n\n## Unreleased\n')
  expect(await compare(`v${manifest.version}`)).toMatchObject({ code: 1 })
})

test('npm would publish the package, with the repository of the workflow and all notices', async () => {
  expect(await step('npm', 'Name the repository', REPOSITORY)).toMatchObject({ code: 0 })
  const { repository, homepage, bugs } = JSON.parse(readFileSync(join(published, 'package.json'), 'utf8'))
  const url = 'https://github.com/-/-'
  expect(repository).toEqual({ type: 'git', url: `git+${url}.git` })
  expect([homepage, bugs]).toEqual([`${url}#readme`, { url: `${url}/issues` }])
  // The package in this folder is built.
  const { code, said } = await runIn(published, ['npm', 'publish', '--dry-run', '--ignore-scripts'])
  expect([said, code]).toEqual([expect.stringContaining(`+ modelhost-sim@${manifest.version}`), 0])
  for (const file of [
    'LICENSE',
    'SECURITY.md',
    'dist/THIRD-PARTY-NOTICES.txt',
    'dist/index.js',
    'dist/types/index.d.ts',
    'bin/modelhost-sim.js',
  ]) {
    expect(said).toMatch(new RegExp(`notice [\\d.]+k?M?B ${file}\n`))
  }
  expect(said).not.toMatch(/B (?:src|test|tools|node_modules)\//)
}, 120_000)

/** Starts a command with no network, where the system can do that. */
const alone = (folder: string, command: readonly string[], env = {}) =>
  runIn(folder, canBeAlone ? [...ALONE, ...command] : command, env)

/** Installs packages of the registry. */
async function install(folder: string): Promise<void> {
  const npm = ['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline']
  // The registry can have a certificate that only this variable names.
  const { NODE_EXTRA_CA_CERTS = '' } = process.env
  const online = { npm_config_offline: 'false', NODE_EXTRA_CA_CERTS }
  expect(await runIn(folder, npm, online)).toMatchObject({ code: 0 })
}

/** Uses what needs packages or files of the build: the collections, faker, the ranks of tokens. */
const USE = `
  import { createSimulator } from 'modelhost-sim'
  const sim = createSimulator({ fill: { deployments: 20 } })
  const { models } = await sim.data()
  const headers = { authorization: 'Bearer ' + sim.token, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'acme/assistant', messages: [{ role: 'user', content: 'How many tokens has 日本語?' }] })
  const answer = await sim.fetch('http://sim/v1/chat/completions', { method: 'POST', headers, body })
  const { usage } = await answer.json()
  const deployments = await (await sim.fetch('http://sim/deploy/list', { headers })).json()
  console.log(models.all().length > 10, usage.prompt_tokens, deployments.length)`

test('the package takes at most 60 MB and 1,200 files in an empty folder, and works there', async () => {
  const folder = join(home, 'empty')
  mkdirSync(folder)
  const packed = await runIn(published, ['npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder])
  const dependencies = { 'modelhost-sim': `file:${packed.said.trim()}` }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
  await install(folder)
  const { said } = await runIn(folder, ['du', '-sk', 'node_modules'])
  expect(Number.parseInt(said, 10)).toBeLessThan(60 * 1024)
  const entries = readdirSync(join(folder, 'node_modules'), { recursive: true, withFileTypes: true })
  expect(entries.filter(entry => entry.isFile()).length).toBeLessThan(1_200)

  writeFileSync(join(folder, 'use.mjs'), USE)
  expect(await alone(folder, ['node', 'use.mjs'])).toEqual({ said: 'true 14 20\n', code: 0 })
  cpSync('scenarios/deploy', join(folder, 'own'), { recursive: true })
  const ran = await alone(folder, ['npx', 'modelhost-sim', 'run', 'own/cold-start.ts'])
  expect([ran.said, ran.code]).toEqual([expect.stringContaining('1 scenario passed'), 0])
}, 120_000)

describe(`a project that installs the packed file${canBeAlone ? '' : ' (its network is not cut: unshare fails here)'}`, () => {
  beforeAll(async () => {
    mkdirSync(project)
    const packed = await runIn(published, ['npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', home])
    const asked = RUNNERS.map(name => JSON.parse(readFileSync(`examples/${name}/package.json`, 'utf8')).devDependencies)
    const devDependencies = { ...Object.assign({}, ...asked), 'modelhost-sim': `file:../${packed.said.trim()}` }
    writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true, devDependencies }))
    await install(project)
  }, 300_000)

  test('starts a server that a command reaches', async () => {
    const ask = 'curl --silent --show-error --fail "$MODELHOST_SIM_URL/_sim/health"'
    const { code, said } = await alone(project, ['npx', 'modelhost-sim', 'exec', '--', 'sh', '-c', ask])
    expect([said, code]).toEqual([expect.stringContaining('"status":"ok"'), 0])
  })

  test.each(RUNNERS)('runs the tests of examples/%s', async name => {
    const folder = join(project, name)
    cpSync(join('examples', name), folder, { recursive: true })
    symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'))
    const { code, said } = await alone(folder, ['npm', 'test'], {
      SIM_PORT: await freePort(),
      APP_PORT: await freePort(),
    })
    expect([said, code]).toEqual([expect.stringMatching(/[1-9]\d* pass|[#ℹ] pass [1-9]/), 0])
    expect(existsSync(join(folder, 'node_modules/modelhost-sim/src'))).toBe(false)
  })

  const skipped = hasPytest ? '' : ' (skipped: there is no pytest for Python 3.11 on this machine)'
  test.skipIf(!hasPytest)(`runs the tests of its Python example by pytest${skipped}`, async () => {
    const python = join(project, 'node_modules/modelhost-sim/clients/python')
    cpSync(join(python, 'example'), join(project, 'pytest'), { recursive: true })
    // What pip installs: the package, and the plugin that its entry point names.
    const command = ['python3', '-m', 'pytest', '-q', '-p', 'modelhost_sim.pytest_plugin', '-p', 'no:cacheprovider']
    const { code, said } = await alone(join(project, 'pytest'), command, { PYTHONPATH: join(python, 'src') })
    expect([said, code]).toEqual([expect.stringMatching(/[1-9]\d* passed/), 0])
  })
})
