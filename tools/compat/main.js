// `npm run compat`: the packed package on Node 24 with MSW 3, in a folder of its own. The scenarios must give the traces
// that Node 20 wrote, MSW 3 must let the handlers answer, and a client on fake timers must live the life that it lives on
// this Node. A recording of this Node must replay on Node 24. Needs the npm registry; takes about a minute.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'

const folder = mkdtempSync(join(tmpdir(), 'modelhost-sim-compat-'))
const run = (command, args, cwd = folder) => execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })

const STORY = `
import { createSimulator } from 'modelhost-sim'
import { handlers, listenOptions } from 'modelhost-sim/msw'
import { setupServer } from 'msw/node'

const sim = createSimulator({ seed: 1 })
const server = setupServer(...handlers(sim, { baseUrl: 'https://api.example.test/v9' }))
server.listen(listenOptions)
const headers = { authorization: 'Bearer ' + sim.token }
const call = async (path, init) => {
  const answer = await fetch('https://api.example.test/v9' + path, { headers, ...init })
  return { status: answer.status, body: await answer.json() }
}
const body = JSON.stringify({ model_name: 'chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
const created = await call('/deploy/llm', { method: 'POST', body })
const form = new FormData()
form.set('purpose', 'batch')
form.set('file', new File(['{}'], 'in.jsonl'))
const uploaded = await call('/v1/files', { method: 'POST', body: form })
await sim.clock.advance('10m')
const later = await call('/deploy/' + created.body.deploy_id)
const lost = await call('/no/such/path')
await fetch('https://api.example.test/v9/no/such/path', { headers }).then(answer => answer.body.cancel())
const escaped = await fetch('https://elsewhere.example.test/').then(() => 'went out', () => 'stopped')
server.close()
const seen = JSON.stringify([created.status, uploaded.status, later.body.status, lost.body, escaped])
const wanted = JSON.stringify([200, 200, 'running', { detail: 'Not Found' }, 'stopped'])
if (seen !== wanted) throw new Error('expected ' + wanted + ', got ' + seen)
`

const RECORD = `
import { createSimulator } from 'modelhost-sim'

const sim = createSimulator({ seed: 7, weather: 'rough', fixtures: 'two-nodes' })
const recording = sim.record({ file: 'run.ndjson' })
const headers = { authorization: 'Bearer ' + sim.token, 'content-type': 'application/json' }
const call = async (path, value) => {
  const init = value === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(value) }
  return await (await sim.fetch('http://sim' + path, init)).text()
}
sim.faults.add({ on: 'listDeployments', times: 2, fault: { kind: 'status', status: 503 } })
await call('/deploy/llm', { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
for (let poll = 0; poll < 20; poll++) {
  await sim.clock.advance('10m')
  await call('/deploy/list')
  await call('/v1/chat/completions', { model: 'acme/chat', stream: poll % 2 === 0, messages: [{ role: 'user', content: 'Grüße 🌍' }] })
}
recording.stop()
`

const REPLAY = `
import { replay } from 'modelhost-sim'

const result = await replay('run.ndjson')
if (result.outcome !== 'same') throw new Error(JSON.stringify(result))
console.log(result.requests + ' requests')
`

try {
  console.log('packing')
  const packed = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], process.cwd()).toString())
  const tarball = join(folder, packed[0].filename)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }))
  console.log('installing it with node@24 and msw@3')
  const packages = ['node@24', 'msw@3', '@sinonjs/fake-timers@15', 'openai@latest', 'openai-for-node-20@npm:openai@6']
  run('npm', ['install', '--no-audit', '--no-fund', tarball, ...packages])
  const node = join(folder, 'node_modules/node/bin/node')
  cpSync('scenarios', join(folder, 'scenarios'), { recursive: true })
  writeFileSync(join(folder, 'story.js'), STORY)
  console.log(`scenarios on Node ${run(node, ['--version']).toString().trim()}`)
  const played = run(node, ['node_modules/modelhost-sim/bin/modelhost-sim.js', 'run', 'scenarios/**/*']).toString()
  console.log(played.trim().split('\n').at(-1))
  run(node, ['story.js'])
  console.log('MSW 3 lets the handlers answer, and an unhandled call does not go out')
  writeFileSync(join(folder, 'record.js'), RECORD)
  writeFileSync(join(folder, 'replay.js'), REPLAY)
  run(process.execPath, ['record.js'])
  for (const runner of [process.execPath, node]) {
    const replayed = run(runner, ['replay.js']).toString().trim()
    console.log(
      `a recording of this Node on Node ${run(runner, ['--version']).toString().trim()}: ${replayed}, all the same`,
    )
  }
  const bundle = async (source, outfile, alias = {}) => {
    await build({
      entryPoints: [source],
      outfile: join(folder, outfile),
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      alias,
      // The package that was installed, not the source that this project means by its name.
      tsconfigRaw: '{}',
    })
    return join(folder, outfile)
  }
  const source = 'tools/bench/processes/openai-package.ts'
  const answers = [
    [node, 'openai', await bundle(source, 'newest.mjs')],
    [process.execPath, 'openai-for-node-20', await bundle(source, 'node-20.mjs', { openai: 'openai-for-node-20' })],
  ].map(([runner, name, program]) => {
    const { version } = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
    const { node, results } = JSON.parse(run(runner, [program]).toString())
    console.log(`openai ${version} on Node ${node}: ${Object.keys(results).join(', ')}`)
    return JSON.stringify(results)
  })
  if (answers[0] !== answers[1]) throw new Error('the versions of the openai package got different answers')
  const lockstep = await bundle('tools/bench/processes/lockstep.ts', 'lockstep.mjs')
  const lives = [
    [process.execPath, 'fetch'],
    [node, 'fetch'],
    [node, 'msw'],
  ].map(([runner, transport]) => JSON.parse(run(runner, [lockstep, transport]).toString()))
  for (const { node, transport, runs } of lives) {
    for (const [story, { polls, times, traces, trace, wallMs, cpuMs }] of Object.entries(runs)) {
      const same = traces === 1 && trace === lives[0].runs[story].trace
      const poll = `${(wallMs / polls).toFixed(2)} ms each, ${(cpuMs / polls).toFixed(2)} of CPU`
      console.log(
        `${story} on Node ${node}, ${transport}: ${polls} polls, ${poll}, ${times} lives, ${same ? 'one trace' : 'ANOTHER TRACE'}`,
      )
      if (!same) throw new Error(`${traces} traces, ${trace} the first, ${lives[0].runs[story].trace} expected`)
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
